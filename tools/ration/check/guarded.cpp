// SPDX-License-Identifier: BSL-1.0
#include "guarded.hpp"

#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "sandbox.hpp"

namespace ration::conformance {
namespace {

struct region {
    std::byte const* base;
    std::size_t before, usable;
    char const* name;
};
// A fixed array, because a signal handler reads it.
constexpr std::size_t most_regions = 1024;
region regions[most_regions];

[[nodiscard]] std::size_t page() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Text put together without allocation.
class note {
    char text_[256];
    std::size_t size_ = 0;

public:
    note& operator<<(char const* part) noexcept {
        for (; *part != '\0' && size_ < sizeof text_; ++part) text_[size_++] = *part;
        return *this;
    }
    void leave() const noexcept { leave_note(text_, size_); }
};

[[nodiscard]] char const* way_of([[maybe_unused]] void* context) noexcept {
#if defined(__x86_64__)
    auto const& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    return (registers[REG_ERR] & 2) != 0 ? "it wrote " : "it read ";
#else
    return "it touched ";
#endif
}

void emit_location(std::byte const* at, void* context) noexcept {
    for (auto const& r : regions) {
        if (r.base == nullptr || at < r.base || at >= r.base + r.before + r.usable + page()) continue;
        auto const* const first = r.base + r.before;
        char const* const where = at < first               ? "before the beginning of "
                                  : at >= first + r.usable ? "past the end of "
                                                           : "";
        (note() << way_of(context) << where << r.name << (*where == '\0' ? ", which is locked" : "")).leave();
        return;
    }
    if (reinterpret_cast<std::uintptr_t>(at) < page()) (note() << "it followed a null pointer").leave();
}

void on_fault(int signal, siginfo_t* info, void* context) {
    if (info->si_code == SI_KERNEL)  // x86-64 does not say where when the bits cannot be an address
        (note() << "it followed garbage as a pointer").leave();
    else if (info->si_code > 0)
        emit_location(static_cast<std::byte const*>(info->si_addr), context);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace

guarded::guarded(char const* name, std::size_t most_bytes) : usable_((most_bytes + page() - 1) / page() * page()) {
    auto* const all = ::mmap(nullptr, usable_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(all);
    make_writable();
    name_region(base_, page(), usable_, name);
}

guarded::~guarded() {
    forget_region(base_);
    ::munmap(base_, usable_ + 2 * page());
}

std::byte* guarded::place(std::size_t bytes, std::size_t alignment) noexcept {
    std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
    auto* const first = base_ + page() + usable_ - rounded;
    std::memset(first, 0, rounded);
    return first;
}

void guarded::make_read_only() noexcept { ::mprotect(base_ + page(), usable_, PROT_READ); }
void guarded::make_writable() noexcept { ::mprotect(base_ + page(), usable_, PROT_READ | PROT_WRITE); }

void guarded::make_unreachable() noexcept { ::mprotect(base_ + page(), usable_, PROT_NONE); }

void explain_faults() noexcept {
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, nullptr);
    ::sigaction(SIGBUS, &action, nullptr);
}

void name_region(std::byte const* base, std::size_t before, std::size_t usable, char const* name) noexcept {
    for (auto& r : regions)
        if (r.base == nullptr) {
            r = {base, before, usable, name};
            return;
        }
}

void forget_region(std::byte const* base) noexcept {
    for (auto& r : regions)
        if (r.base == base) r = {};
}

}  // namespace ration::conformance
