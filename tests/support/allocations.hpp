// SPDX-License-Identifier: BSL-1.0
// Counts what the program asks of operator new, and makes it refuse. Needs support/allocations.cpp in the same test.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// How many allocations a `failing_memory` refuses.
enum class refusals : std::uint8_t { one, all };

/// Lets `count` more allocations of any kind succeed and refuses the next one, or all after that, until it goes out of
/// scope or is stopped.
class failing_memory {
public:
    failing_memory(std::size_t count, refusals which) noexcept;
    ~failing_memory() { stop(); }
    failing_memory(failing_memory const&) = delete;
    failing_memory& operator=(failing_memory const&) = delete;

    void stop() noexcept;
    /// Whether an allocation was refused.
    [[nodiscard]] bool struck() const noexcept;
};

/// As long as one exists, allocations succeed and do not count: for a fake of the kernel.
class ample_memory {
public:
    ample_memory() noexcept;
    ~ample_memory();
    ample_memory(ample_memory const&) = delete;
    ample_memory& operator=(ample_memory const&) = delete;
};
