// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// A set of keys, to find two grants for the same job, node and resource.
///
/// Used by the checker's general path; the fast path (good_answer.hpp) sees duplicates by the order
/// of the rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/detail/zeroed_buffer.hpp>

namespace ration::detail {

/// A set of 64-bit keys that is emptied in O(1): each slot has the number of the round that filled
/// it.
class place_set {
    struct slot {
        std::uint64_t key = 0;
        std::uint64_t round = 0;
    };
    zeroed_buffer<slot> slots_;
    std::uint64_t round_ = 0;
    // Keys differ in their high bits, and multiplication carries to the left only: the hash is its top bits
    int shift_ = 0;

public:
    /// Allocates for this number of keys, at most half full.
    void reserve(std::size_t keys) {
        slots_.reset(std::bit_ceil(keys * 2 + 2));
        shift_ = 64 - std::countr_zero(slots_.size());
    }
    /// Empties the set; O(1).
    void clear() noexcept { ++round_; }

    /// Adds a key. Returns false if it was there already. Precondition: fewer keys than reserved.
    /// O(1) expected.
    [[nodiscard]] bool insert(std::uint64_t key) noexcept {
        std::size_t const mask = slots_.size() - 1;
        std::size_t i = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
        // Linear probing: neighbours are on the same cache line.
        for (; slots_[i].round == round_; i = (i + 1) & mask)
            if (slots_[i].key == key) return false;
        slots_[i] = {key, round_};
        return true;
    }
};

}  // namespace ration::detail
