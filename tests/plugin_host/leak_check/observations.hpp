// SPDX-License-Identifier: BSL-1.0
/// The observations of a leak check: its saved state, byte for byte, so that a host that saves it can read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace leak_check {

/// H1 to H18 of docs/plugin-abi.md.
inline constexpr int misbehaviours = 18;

struct observations {
    char magic[8] = {'w', 'i', 't', 'n', 'e', 's', 's', '1'};
    std::uint64_t checksum = 0;
    std::uint32_t count[misbehaviours + 1] = {};  // by number; 0 is not used
    char first[misbehaviours + 1][128] = {};      // the sentence of the first sighting of each
    std::uint32_t reserved = 0;

    [[nodiscard]] bool none() const noexcept {
        for (auto const n : count)
            if (n != 0) return false;
        return true;
    }
    /// FNV-1a of all that follows the checksum.
    [[nodiscard]] std::uint64_t sum() const noexcept {
        std::uint64_t hash = 14695981039346656037U;
        auto const* const bytes = reinterpret_cast<unsigned char const*>(this);
        for (std::size_t i = offsetof(observations, count); i < sizeof *this; ++i)
            hash = (hash ^ bytes[i]) * 1099511628211U;
        return hash;
    }
};
static_assert(sizeof(observations) == 16 + 19 * 4 + 19 * 128 + 4);

/// False for bytes that are no whole state of a leak check.
[[nodiscard]] inline bool read(void const* bytes, std::size_t size, observations& into) noexcept {
    observations found;
    if (size != sizeof found) return false;
    std::memcpy(static_cast<void*>(&found), bytes, size);
    if (std::memcmp(found.magic, observations().magic, sizeof found.magic) != 0 || found.checksum != found.sum())
        return false;
    into = found;
    return true;
}

}  // namespace leak_check
