// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A permutation of many indices of which few have been swapped, for a draw without a pass over all.
///
/// Part of learners.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// Indices from 0 up of which only a few have been swapped. `begin` and all other operations are O(1).
class sparse_permutation {
    struct entry {
        std::uint64_t round = 0;
        std::size_t index = 0;
    };
    buffer<entry> entries_;
    std::uint64_t round_ = 0;

public:
    /// Allocates for indices below this number.
    void reserve(std::size_t indices) noexcept { entries_.resize(indices); }
    /// Every index below this number has itself for a value.
    void begin(std::size_t indices) noexcept {
        if (entries_.size() < indices) entries_.resize(indices);
        ++round_;
    }
    /// The value of an index.
    [[nodiscard]] std::size_t operator[](std::size_t i) const noexcept {
        return entries_[i].round == round_ ? entries_[i].index : i;
    }
    /// Sets the value of an index.
    void set(std::size_t i, std::size_t value) noexcept { entries_[i] = {round_, value}; }
};

}  // namespace ration::policies::detail
