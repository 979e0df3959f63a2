// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/grant.hpp>

namespace ration::detail {

/// The rows of an answer in the order of their jobs, and those of one job by node and resource. By digits of the job's
/// row: each pass reads from the first to the last, whereas sorts that compare jump.
class job_order {
    static constexpr int longest_digit = 11;
    static constexpr std::size_t few = 64;

    buffer<std::uint64_t> entries_, sorted_;  // the job in the high half, the row in the low one
    buffer<std::uint64_t> starts_;            // of the buckets

public:
    void reserve(std::size_t rows) {
        entries_.reserve(rows);
        sorted_.reserve(rows);
        starts_.reserve(std::size_t{1} << longest_digit);
    }

    /// False when a row names no job of so many. O(rows), but for rows of one job that are not in order.
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

    [[nodiscard]] std::uint32_t job(std::size_t i) const noexcept { return job_of(entries_[i]); }
    /// Which row comes at place `i`.
    [[nodiscard]] std::uint32_t row(std::size_t i) const noexcept { return static_cast<std::uint32_t>(entries_[i]); }

private:
    [[nodiscard]] static std::uint32_t job_of(std::uint64_t entry) noexcept {
        return static_cast<std::uint32_t>(entry >> 32);
    }

    void sort_jobs(std::uint32_t largest) noexcept {
        int bits = 1;
        while (largest >> bits != 0) ++bits;
        int const digits = (bits + longest_digit - 1) / longest_digit, width = (bits + digits - 1) / digits;
        for (int i = 0; i < digits; ++i) sort_digit(i * width, width);
    }

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

    /// Those of each job; or all at once.
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
