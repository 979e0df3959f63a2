// SPDX-License-Identifier: BSL-1.0
/// What a policy or an engine remembers of each job, kept in step with the rows of the jobs table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>

namespace ration {

/// One `T` per row of the jobs table. `follow` is O(rows), a comparison only while no job came or went; it never allocates as
/// long as there are at most as many rows as were reserved.
template <class T>
class job_memory {
    buffer<std::uint64_t> ids_, former_ids_;
    std::vector<T> values_, former_values_;

public:
    void reserve(std::size_t jobs) {
        ids_.reserve(jobs), former_ids_.reserve(jobs);
        values_.reserve(jobs), former_values_.reserve(jobs);
    }

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
            RATION_ASSERT(row == 0 || ids[row - 1] < ids[row], "the rows of the jobs table must be in ascending order of jobs/id");
            while (old < former_ids_.size() && former_ids_[old] < ids[row]) ++old;
            bool const known = old < former_ids_.size() && former_ids_[old] == ids[row];
            values_.push_back(known ? std::move(former_values_[old]) : T{});
        }
        return true;
    }

    [[nodiscard]] T& operator[](std::size_t row) noexcept { return values_[row]; }
    [[nodiscard]] T const& operator[](std::size_t row) const noexcept { return values_[row]; }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

private:
    [[nodiscard]] bool same(std::span<std::uint64_t const> ids) const noexcept {
        if (ids.size() != ids_.size()) return false;
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] != ids_[i]) return false;
        return true;
    }
};

}  // namespace ration
