// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>

namespace ration::detail {

/// A set of 64-bit keys that is emptied in O(1): each slot carries the number of the round that filled it.
class place_set {
    struct slot {
        std::uint64_t key = 0;
        std::uint64_t round = 0;
    };
    buffer<slot> slots_;
    std::uint64_t round_ = 0;
    // Keys differ in their high bits, and multiplication carries to the left only: the hash is its top bits
    int shift_ = 0;

public:
    void reserve(std::size_t keys) {
        slots_.reset(std::bit_ceil(keys * 2 + 2));
        shift_ = 64 - std::countr_zero(slots_.size());
    }
    void clear() noexcept { ++round_; }

    /// False when the key was there already. Precondition: fewer keys than reserved.
    [[nodiscard]] bool insert(std::uint64_t key) noexcept {
        std::size_t const mask = slots_.size() - 1;
        std::size_t i = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
        for (; slots_[i].round == round_; i = (i + 1) & mask)
            if (slots_[i].key == key) return false;
        slots_[i] = {key, round_};
        return true;
    }
};

}  // namespace ration::detail
