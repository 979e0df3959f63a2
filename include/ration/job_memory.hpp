// SPDX-License-Identifier: BSL-1.0
/// What a policy or an engine remembers of each job, kept in step with the rows of the jobs table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/state.hpp>

namespace ration {

/// One `T` per row of the jobs table. `follow` is O(rows), a comparison only while no job came or went; it never
/// allocates as long as there are at most as many rows as were reserved.
template <class T>
class job_memory {
    buffer<std::uint64_t> ids_, former_ids_;
    std::vector<T> values_, former_values_;

public:
    void reserve(std::size_t jobs) {
        ids_.reserve(jobs);
        former_ids_.reserve(jobs);
        values_.reserve(jobs);
        former_values_.reserve(jobs);
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }

    /// Moves every value to the row where its job is now; new jobs start with `T{}`. Precondition: `ids` ascend.
    /// Returns true when a job came or went.
    bool follow(std::span<std::uint64_t const> ids) {
        if (same(ids)) return false;
        ids_.swap(former_ids_);
        std::swap(values_, former_values_);
        ids_.assign(ids.data(), ids.size());
        values_.clear();
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

    [[nodiscard]] T& operator[](std::size_t row) noexcept { return values_[row]; }
    [[nodiscard]] T const& operator[](std::size_t row) const noexcept { return values_[row]; }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

    /// The ids and values, with their number in front.
    void save(state_writer& out) const noexcept {
        out.put(std::uint64_t{ids_.size()});
        for (std::size_t row = 0; row < ids_.size(); ++row) {
            out.put(ids_[row]);
            out.put(values_[row]);
        }
    }
    /// Becomes what was saved. False, and unchanged, when that is cut short, or its ids do not ascend. Allocates.
    [[nodiscard]] bool load(state_reader& in) {
        std::uint64_t rows = 0;
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

private:
    [[nodiscard]] bool same(std::span<std::uint64_t const> ids) const noexcept {
        return ids.size() == ids_.size() &&
               (ids_.empty() || std::memcmp(ids.data(), ids_.data(), ids_.size() * sizeof(std::uint64_t)) == 0);
    }
};

}  // namespace ration
