// SPDX-License-Identifier: BSL-1.0
#include "support/allocations.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::size_t made = 0;
std::size_t left = SIZE_MAX;

std::size_t until_failure = SIZE_MAX;  // SIZE_MAX: none is refused
refusals refuses = refusals::one;
bool refused = false;
int ample = 0;

/// Counts an allocation; true when it is to fail.
[[nodiscard]] bool fails() noexcept {
    if (ample > 0) return false;
    ++made;
    if (until_failure == SIZE_MAX || until_failure-- > 0) return false;
    refused = true;
    until_failure = refuses == refusals::all ? 0 : SIZE_MAX;
    return true;
}

void* allocate(std::size_t size) noexcept {
    if (fails()) return nullptr;
    return std::malloc(size == 0 ? 1 : size);
}

void* allocate_aligned(std::size_t size, std::align_val_t alignment) noexcept {
    if (fails()) return nullptr;
    auto const to = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(to, (size + to - 1) / to * to);
}

void* or_throw(void* p) {
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace

std::size_t allocations() noexcept { return made; }

scarce_memory::scarce_memory(std::size_t count) noexcept { left = count; }
scarce_memory::~scarce_memory() { left = SIZE_MAX; }

failing_memory::failing_memory(std::size_t count, refusals which) noexcept {
    refuses = which;
    refused = false;
    until_failure = count;
}
void failing_memory::stop() noexcept { until_failure = SIZE_MAX; }
bool failing_memory::struck() const noexcept { return refused; }

ample_memory::ample_memory() noexcept { ++ample; }
ample_memory::~ample_memory() { --ample; }

void* operator new(std::size_t size) { return or_throw(allocate(size)); }
void* operator new[](std::size_t size) { return or_throw(allocate(size)); }
// All forms are replaced, or a sanitizer's own would answer for the ones left out and miss the matching delete.
void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return or_throw(allocate_aligned(size, alignment)); }
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
    if (left == 0) return nullptr;
    if (left != SIZE_MAX) --left;
    return allocate_aligned(size, alignment);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
