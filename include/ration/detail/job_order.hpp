// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// Sorts the rows of an answer by job.
///
/// Used by `good_answer` for answers that a policy wrote in another order. It is on the tick's
/// path, so it allocates only in `reserve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/grant.hpp>

namespace ration::detail {

/// The rows of an answer in the order of their jobs, and the rows of one job by node and resource.
///
/// A radix sort by digits of the job's row: each pass reads the memory in order, while sorts that
/// compare jump.
class job_order {
    // 2^11 counters of 8 bytes fit the first-level cache.
    static constexpr int longest_digit = 11;
    // Below this number of rows, a comparison sort is faster than clearing the counters.
    static constexpr std::size_t few = 64;

    buffer<std::uint64_t> entries_, sorted_;  // the job in the high half, the row in the low one
    buffer<std::uint64_t> starts_;            // of the buckets

public:
    /// Allocates for this number of rows.
    void reserve(std::size_t rows) {
        entries_.reserve(rows);
        sorted_.reserve(rows);
        starts_.reserve(std::size_t{1} << longest_digit);
    }

    /// Sorts `rows`. Returns false if a row names a job beyond `jobs`. O(rows), except for rows of
    /// one job that are out of order.
    [[nodiscard]] bool sort(std::span<grant const> rows, std::size_t jobs) noexcept {
        entries_.clear();
        std::uint64_t* const all = entries_.extend(rows.size());
        std::uint32_t largest = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            all[i] = std::uint64_t{rows[i].job} << 32 | i;
            largest = rows[i].job > largest ? rows[i].job : largest;
        }
        if (largest >= jobs) return false;
        if (rows.size() >= few) sort_jobs(largest);
        sort_places(rows, rows.size() < few);
        return true;
    }

    /// The job of the row with index `i` in the order.
    [[nodiscard]] std::uint32_t job(std::size_t i) const noexcept { return job_of(entries_[i]); }
    /// The index in the answer of the row with index `i` in the order.
    [[nodiscard]] std::uint32_t row(std::size_t i) const noexcept { return static_cast<std::uint32_t>(entries_[i]); }

private:
    [[nodiscard]] static std::uint32_t job_of(std::uint64_t entry) noexcept {
        return static_cast<std::uint32_t>(entry >> 32);
    }

    /// Sorts by job, with as few digits as the largest job needs, and all of one width.
    void sort_jobs(std::uint32_t largest) noexcept {
        int bits = 1;
        while (largest >> bits != 0) ++bits;
        int const digits = (bits + longest_digit - 1) / longest_digit, width = (bits + digits - 1) / digits;
        for (int i = 0; i < digits; ++i) sort_digit(i * width, width);
    }

    /// One pass of the counting sort: count, sum up, distribute. It keeps the order of equal
    /// digits.
    void sort_digit(int shift, int width) noexcept {
        std::uint32_t const mask = (std::uint32_t{1} << width) - 1;
        starts_.reset(std::size_t{mask} + 1);
        std::uint64_t* const starts = starts_.data();
        for (auto const e : entries_) ++starts[job_of(e) >> shift & mask];
        std::uint64_t before = 0;
        for (auto& start : starts_) {
            std::uint64_t const count = start;
            start = before;
            before += count;
        }
        sorted_.clear();
        std::uint64_t* const to = sorted_.extend(entries_.size());
        for (auto const e : entries_) to[starts[job_of(e) >> shift & mask]++] = e;
        entries_.swap(sorted_);
    }

    /// Sorts the rows of each job by node and resource; or all rows in one go.
    void sort_places(std::span<grant const> rows, bool at_once) noexcept {
        auto const before = [&](std::uint64_t a, std::uint64_t b) {
            if (job_of(a) != job_of(b)) return a < b;
            grant const &left = rows[static_cast<std::uint32_t>(a)], &right = rows[static_cast<std::uint32_t>(b)];
            return left.node != right.node ? left.node < right.node : left.resource < right.resource;
        };
        for (std::size_t first = 0, last = 0; first < entries_.size(); first = last) {
            last = at_once ? entries_.size() : first + 1;
            while (last < entries_.size() && job(last) == job(first)) ++last;
            if (last - first > 1) detail::sort(entries_.data() + first, last - first, before);
        }
    }
};

}  // namespace ration::detail
