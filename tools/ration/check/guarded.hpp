// SPDX-License-Identifier: BSL-1.0
/// Memory that a plugin is given, between pages that cannot be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ration::conformance {

/// Bytes whose end is the beginning of a page that cannot be touched. Not for copying: regions are known by their
/// address.
class guarded {
    std::byte* base_ = nullptr;
    std::size_t usable_ = 0;

public:
    /// `name` is how a fault speaks of it: "the output".
    guarded(char const* name, std::size_t most_bytes);
    guarded(guarded const&) = delete;
    guarded& operator=(guarded const&) = delete;
    ~guarded();

    /// Zeroed space of `bytes`, rounded up to a multiple of `alignment`, whose end is the guard.
    [[nodiscard]] std::byte* place(std::size_t bytes, std::size_t alignment) noexcept;
    void make_read_only() noexcept;
    void make_writable() noexcept;
    void make_unreachable() noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return usable_; }
};

/// From now on a fault leaves a note on the region that it hit, and how, before it ends the process.
void explain_faults() noexcept;

/// `usable` bytes that begin `before` bytes behind `base`; what is around them is its guard.
void name_region(std::byte const* base, std::size_t before, std::size_t usable, char const* name) noexcept;
void forget_region(std::byte const* base) noexcept;

}  // namespace ration::conformance
