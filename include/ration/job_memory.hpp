// SPDX-License-Identifier: BSL-1.0
/// Memory of a policy or an engine for each job, in step with the rows of the jobs table.
///
/// Jobs are sorted by id, so a job that ends moves all later rows up. Policies with a history
/// (flowcon, las, tradl) keep it here and call `follow` at the begin of each tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/result.hpp>
#include <ration/state.hpp>

namespace ration {

/// One `T` for each row of the jobs table. `follow` is O(rows), and only a comparison while the
/// jobs stay the same. It does not allocate while the rows do not exceed the number that was
/// reserved.
template <class T>
class job_memory {
    buffer<std::uint64_t> ids_, former_ids_;
    std::vector<T> values_, former_values_;

public:
    /// Allocates for this number of jobs; called in `prepare`.
    void reserve(std::size_t jobs) {
        ids_.reserve(jobs);
        former_ids_.reserve(jobs);
        values_.reserve(jobs);
        former_values_.reserve(jobs);
    }
    /// The number of jobs that fit without an allocation.
    [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }

    /// Moves every value to the present row of its job; new jobs start with `T{}`, and values of
    /// jobs that left are dropped. Returns true if a job came or left. Precondition: `ids` ascend.
    bool follow(std::span<std::uint64_t const> ids) {
        if (same(ids)) return false;
        ids_.swap(former_ids_);
        std::swap(values_, former_values_);
        ids_.assign(ids.data(), ids.size());
        values_.clear();
        // Both lists ascend, so one pass over each is enough.
        std::size_t old = 0;
        for (std::size_t row = 0; row < ids.size(); ++row) {
            RATION_ASSERT(row == 0 || ids[row - 1] < ids[row],
                          "the rows of the jobs table must be in ascending order of jobs/id");
            while (old < former_ids_.size() && former_ids_[old] < ids[row]) ++old;
            bool const known = old < former_ids_.size() && former_ids_[old] == ids[row];
            values_.push_back(known ? std::move(former_values_[old]) : T{});
        }
        return true;
    }

    /// True if the known jobs are still in their rows.
    [[nodiscard]] bool begins(std::span<std::uint64_t const> ids) const noexcept {
        return ids.size() >= ids_.size() && begins_with_known(ids.data());
    }
    /// The same for a table of which no row has moved: only rows behind the known ones are new. O(new rows).
    void follow_new(std::span<std::uint64_t const> ids) {
        for (std::size_t row = ids_.size(); row < ids.size(); ++row) {
            ids_.push_back(ids[row]);
            values_.push_back(T{});
        }
    }

    /// The value of a row, without a check.
    [[nodiscard]] T& operator[](std::size_t row) noexcept { return values_[row]; }
    /// The same, read-only.
    [[nodiscard]] T const& operator[](std::size_t row) const noexcept { return values_[row]; }
    /// The number of rows, as of the last `follow`.
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

    /// Writes the number of jobs, then the id and the value of each.
    void save(state_writer& out) const noexcept {
        out.put(std::uint64_t{ids_.size()});
        for (std::size_t row = 0; row < ids_.size(); ++row) {
            out.put(ids_[row]);
            out.put(values_[row]);
        }
    }
    /// Restores what `save` wrote. Returns false, and changes nothing, if bytes are missing or the
    /// ids do not ascend. Allocates.
    [[nodiscard]] bool load(state_reader& in) {
        std::uint64_t rows = 0;
        // The number is not trusted: more rows than bytes for their ids cannot be there, so it must
        // not size an allocation.
        if (!in.get(rows) || rows > in.left() / sizeof(std::uint64_t)) return false;
        job_memory loaded;
        loaded.reserve(rows > values_.capacity() ? rows : values_.capacity());
        for (std::uint64_t row = 0, id = 0, former = 0; row < rows; ++row, former = id) {
            T value{};
            if (!in.get(id) || !in.get(value) || (row > 0 && id <= former)) return false;
            loaded.ids_.push_back(id);
            loaded.values_.push_back(value);
        }
        *this = std::move(loaded);
        return true;
    }

    /// For an owner whose state is only this: writes it if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        save(out);
        return out.needed();
    }
    /// The same for `load`. Returns `status::state`, and changes nothing, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) {
        state_reader in(saved);
        job_memory loaded;
        loaded.reserve(capacity());
        if (!loaded.load(in) || !in.finished()) return status::state;
        *this = std::move(loaded);
        return status::ok;
    }

private:
    [[nodiscard]] bool begins_with_known(std::uint64_t const* ids) const noexcept {
        return ids_.empty() || std::memcmp(ids, ids_.data(), ids_.size() * sizeof(std::uint64_t)) == 0;
    }
    [[nodiscard]] bool same(std::span<std::uint64_t const> ids) const noexcept {
        return ids.size() == ids_.size() && begins_with_known(ids.data());
    }
};

}  // namespace ration
