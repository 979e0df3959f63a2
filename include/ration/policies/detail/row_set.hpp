// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A set of rows in ascending order, for queues of jobs and for nodes with the same number of free devices.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// A bitmap with two levels of summaries: bit i of a summary is set if word i of the level below is not zero. Each
/// operation is O(rows / 64^3) with a word of 64 rows on each level, so O(1) up to some millions of rows.
class row_set {
    static constexpr int levels = 3;
    buffer<std::uint64_t> words_[levels];
    std::size_t size_ = 0;

public:
    /// Returned by `next` behind the last row.
    static constexpr std::size_t none = ~std::size_t{0};

    /// Allocates for rows below this number, and removes all. Rows above it are accepted, too.
    void reset(std::size_t rows) noexcept {
        for (auto& level : words_) {
            rows = rows / 64 + 1;
            level.reset(rows);
        }
        size_ = 0;
    }

    /// The number of rows in the set.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// True if the row is in the set.
    [[nodiscard]] bool contains(std::size_t row) const noexcept {
        return row / 64 < words_[0].size() && (words_[0][row / 64] >> row % 64 & 1) != 0;
    }

    /// Adds a row or removes it.
    void set(std::size_t row, bool in) noexcept {
        if (contains(row) == in) return;
        size_ += in ? 1 : std::size_t{0} - 1;
        for (auto& level : words_) {
            if (row / 64 >= level.size()) level.resize(row / 64 + 1);
            std::uint64_t& word = level[row / 64];
            std::uint64_t const before = word, bit = std::uint64_t{1} << row % 64;
            word = in ? word | bit : word & ~bit;
            // The summary changes only with the first and the last bit of a word.
            if ((in ? before : word) != 0) return;
            row /= 64;
        }
    }

    /// The first row of the set that is not below `from`; `none` if there is none.
    [[nodiscard]] std::size_t next(std::size_t from) const noexcept {
        // Upwards, to the first summary with a bit behind `from`; then downwards along the first bits.
        std::size_t at = from;
        int level = 0;
        while (level < levels && !find(level, at)) {
            at = at / 64 + 1;
            ++level;
        }
        if (level == levels) return none;
        for (; level > 0; --level) at = at * 64 + static_cast<std::size_t>(std::countr_zero(words_[level - 1][at]));
        return at;
    }

private:
    /// Moves `at` to the first bit of its word from there on, or, on the highest level, of any word. Returns false if
    /// there is none.
    [[nodiscard]] bool find(int level, std::size_t& at) const noexcept {
        auto const& words = words_[level];
        if (at / 64 >= words.size()) return false;
        if (std::uint64_t const rest = words[at / 64] >> at % 64; rest != 0) {
            at += static_cast<std::size_t>(std::countr_zero(rest));
            return true;
        }
        if (level + 1 < levels) return false;
        for (std::size_t word = at / 64 + 1; word < words.size(); ++word) {
            if (words[word] == 0) continue;
            at = word * 64 + static_cast<std::size_t>(std::countr_zero(words[word]));
            return true;
        }
        return false;
    }
};

}  // namespace ration::policies::detail
