// SPDX-License-Identifier: BSL-1.0
// Counts what the program asks of operator new, and makes it refuse. Needs support/allocations.cpp in the same test.
#pragma once

#include <cstddef>

/// How many allocations there were so far.
[[nodiscard]] std::size_t allocations() noexcept;

/// Lets `count` more nothrow allocations succeed and refuses all after that, until it goes out of scope.
class scarce_memory {
public:
    explicit scarce_memory(std::size_t count) noexcept;
    ~scarce_memory();
    scarce_memory(scarce_memory const&) = delete;
    scarce_memory& operator=(scarce_memory const&) = delete;
};
