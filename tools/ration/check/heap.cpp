// SPDX-License-Identifier: BSL-1.0
// Why malloc is replaced: the probes must see allocations that a plugin makes and frees within one call, and glibc has
// no hooks for that any more. The functions below count and hand on; a plugin finds them because the program comes
// first in the order of symbols.
#include "heap.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <ration/host/sanitizer.hpp>

namespace ration::conformance {
namespace {

std::atomic<std::int64_t> live{0};
thread_local std::uint64_t made = 0;

[[maybe_unused]] void note_taken() noexcept {
    live.fetch_add(1, std::memory_order_relaxed);
    ++made;
}
[[maybe_unused]] void note_given_back() noexcept { live.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace

std::int64_t live_allocations() noexcept { return live.load(std::memory_order_relaxed); }
std::uint64_t allocations_of_this_thread() noexcept { return made; }

}  // namespace ration::conformance

#if RATION_SANITIZED

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's own name
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(void const volatile*, std::size_t),
                                                         void (*)(void const volatile*));

namespace ration::conformance {
bool sees_the_heap() noexcept {
    static bool const installed =
        __sanitizer_install_malloc_and_free_hooks([](void const volatile*, std::size_t) { note_taken(); },
                                                  [](void const volatile*) { note_given_back(); }) != 0;
    return installed;
}
}  // namespace ration::conformance

#elif defined(__GLIBC__)

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
void __libc_free(void*) noexcept;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) noexcept {
    ration::conformance::note_taken();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
    ration::conformance::note_taken();
    return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
    ration::conformance::note_taken();
    if (old != nullptr) ration::conformance::note_given_back();
    return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
    ration::conformance::note_taken();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** place, std::size_t alignment, std::size_t size) noexcept {
    void* const space = memalign(alignment, size);
    if (space == nullptr) return ENOMEM;
    *place = space;
    return 0;
}
void free(void* space) noexcept {
    if (space != nullptr) ration::conformance::note_given_back();
    __libc_free(space);
}
}

namespace ration::conformance {
bool sees_the_heap() noexcept { return true; }
}  // namespace ration::conformance

#else

namespace ration::conformance {
bool sees_the_heap() noexcept { return false; }
}  // namespace ration::conformance

#endif
