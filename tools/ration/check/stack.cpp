// SPDX-License-Identifier: BSL-1.0
#include "stack.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <pthread.h>
#include <sys/mman.h>

#include "finding.hpp"
#include "guarded.hpp"

namespace ration::conformance {
namespace {

constexpr std::size_t below_the_stack = std::size_t{256} << 20;
constexpr std::size_t for_signals = std::size_t{64} << 10;

struct task {
    std::function<void()> const& body;
    std::exception_ptr failure{};
};

/// A handler needs a place to run when the stack itself is used up. A sanitizer has its own, and takes it away itself.
class signal_stack {
    void* place_ = nullptr;

public:
    signal_stack() {
        stack_t there{};
        if (::sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0) return;
        place_ = std::malloc(for_signals);
        stack_t const mine{place_, 0, for_signals};
        ::sigaltstack(&mine, nullptr);
    }
    signal_stack(signal_stack const&) = delete;
    signal_stack& operator=(signal_stack const&) = delete;
    ~signal_stack() {
        if (place_ == nullptr) return;
        stack_t const none{nullptr, SS_DISABLE, 0};
        ::sigaltstack(&none, nullptr);
        std::free(place_);
    }
};

void* perform(void* argument) {
    auto& mine = *static_cast<task*>(argument);
    signal_stack const place;
    try {
        mine.body();
    } catch (std::exception const&) {
        mine.failure = std::current_exception();
    } catch (broken_rule const&) {
        mine.failure = std::current_exception();
    } catch (not_applicable const&) {
        mine.failure = std::current_exception();
    }
    return nullptr;
}

}  // namespace

void run_on_stack(std::size_t bytes, std::function<void()> const& body) {
    auto* const base = static_cast<std::byte*>(::mmap(nullptr, below_the_stack + bytes, PROT_NONE,
                                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    if (base == MAP_FAILED || ::mprotect(base + below_the_stack, bytes, PROT_READ | PROT_WRITE) != 0)
        throw std::bad_alloc();
    name_region(base, below_the_stack, bytes, "its stack");
    task mine{body};
    pthread_attr_t how;
    pthread_t thread;
    ::pthread_attr_init(&how);
    ::pthread_attr_setstack(&how, base + below_the_stack, bytes);
    if (::pthread_create(&thread, &how, &perform, &mine) != 0) throw std::bad_alloc();
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&how);
    forget_region(base);
    ::munmap(base, below_the_stack + bytes);
    if (mine.failure) std::rethrow_exception(mine.failure);
}

}  // namespace ration::conformance
