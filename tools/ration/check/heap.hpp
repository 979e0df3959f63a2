// SPDX-License-Identifier: BSL-1.0
/// Counts the memory that the program, plugins included, allocates and frees.
#pragma once

#include <cstdint>

namespace ration::conformance {

/// Whether this build can see the heap at all: with glibc, or with a sanitizer that has hooks.
[[nodiscard]] bool sees_the_heap() noexcept;

/// Allocations that have not been freed. Only the difference of two calls has a meaning.
[[nodiscard]] std::int64_t live_allocations() noexcept;
/// Allocations of this thread so far.
[[nodiscard]] std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace ration::conformance
