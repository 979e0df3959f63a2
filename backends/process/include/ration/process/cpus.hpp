// SPDX-License-Identifier: BSL-1.0
/// Sets of CPUs, and binding of all threads of a process. Source: sched_setaffinity(2).
#pragma once

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/process/descriptor.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>
#include <ration/text.hpp>

namespace ration::process {

/// A set of logical CPUs, large enough for every Linux configuration (8192).
class cpu_set {
    std::array<std::uint64_t, 128> words_{};

public:
    /// The number of CPUs that a set can hold.
    static constexpr unsigned capacity = 8192;

    /// True if the CPU is in the set.
    [[nodiscard]] bool contains(unsigned cpu) const noexcept {
        return cpu < capacity && ((words_[cpu / 64] >> (cpu % 64)) & 1U) != 0;
    }
    /// Adds a CPU; numbers beyond the capacity are ignored.
    void insert(unsigned cpu) noexcept {
        if (cpu < capacity) words_[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
    /// Removes a CPU.
    void erase(unsigned cpu) noexcept {
        if (cpu < capacity) words_[cpu / 64] &= ~(std::uint64_t{1} << (cpu % 64));
    }
    /// The number of CPUs in the set.
    [[nodiscard]] unsigned size() const noexcept {
        unsigned n = 0;
        for (std::uint64_t const word : words_) n += static_cast<unsigned>(std::popcount(word));
        return n;
    }
    /// True if no CPU is in the set.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    friend bool operator==(cpu_set const&, cpu_set const&) noexcept = default;

    /// The CPUs in both sets.
    [[nodiscard]] friend cpu_set operator&(cpu_set a, cpu_set const& b) noexcept {
        for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
        return a;
    }

    /// Calls `visit(cpu)` for each CPU in ascending order.
    template <class Visit>
    void for_each(Visit&& visit) const noexcept {
        for (unsigned i = 0; i < words_.size(); ++i)
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
                visit(i * 64 + static_cast<unsigned>(std::countr_zero(word)));
    }

    /// The `count` lowest CPUs; all if there are fewer.
    [[nodiscard]] cpu_set lowest(unsigned count) const noexcept {
        cpu_set some;
        for_each([&, left = count](unsigned cpu) mutable {
            if (left > 0) {
                some.insert(cpu);
                --left;
            }
        });
        return some;
    }

    /// The set in the kernel's notation: "0-2,5".
    [[nodiscard]] text<64> list() const noexcept {
        text<64> out;
        for (unsigned cpu = 0; cpu < capacity; ++cpu) {
            if (!contains(cpu)) continue;
            unsigned last = cpu;
            while (contains(last + 1)) ++last;
            std::array<char, 24> range{};
            std::snprintf(range.data(), range.size(), last == cpu ? "%s%u" : "%s%u-%u", out.empty() ? "" : ",", cpu,
                          last);
            out.append(range.data());
            cpu = last;
        }
        return out;
    }

    /// The CPUs on which a thread may run now; 0 is the caller. Empty if the thread does not exist.
    [[nodiscard]] static cpu_set of_thread(pid_t thread) noexcept {
        cpu_set out;
        long const filled = ::syscall(SYS_sched_getaffinity, thread, sizeof out.words_, out.words_.data());
        return filled > 0 ? out : cpu_set{};
    }

    /// Binds one thread. Returns false with errno set.
    [[nodiscard]] bool bind_thread(pid_t thread) const noexcept {
        return ::syscall(SYS_sched_setaffinity, thread, sizeof words_, words_.data()) == 0;
    }
};

namespace detail {

/// Calls `visit(thread)` for each thread of a process. Returns false if they cannot be listed.
template <class Visit>
[[nodiscard]] bool for_each_thread(pid_t pid, Visit&& visit) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/task", static_cast<int>(pid));
    descriptor const directory(::open(path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return directory && for_each_number(directory.get(), visit);
}

/// True if no thread of the process may run outside the set, or if the process has ended.
[[nodiscard]] inline bool within(pid_t pid, cpu_set const& wanted) noexcept {
    bool inside = true;
    static_cast<void>(for_each_thread(pid, [&](pid_t thread) {
        cpu_set const has = cpu_set::of_thread(thread);
        inside = inside && (has & wanted) == has;
    }));
    return inside;
}

/// The new set of a thread that has `has`, when its job moves from `before` to `wanted`. A thread
/// that has restricted itself keeps its restriction.
[[nodiscard]] inline cpu_set rebound(cpu_set const& has, cpu_set const& before, cpu_set const& wanted) noexcept {
    cpu_set const common = has & wanted;
    return has == before || common.empty() ? wanted : common;
}

/// Moves every thread of a process from one set to another. New threads inherit the set of their
/// creator, so a pass can miss a thread of a creator that was not bound yet. Passes repeat until
/// one changes nothing. Returns 0, or the errno of the failure.
[[nodiscard]] inline int bind_process(pid_t pid, cpu_set const& before, cpu_set const& wanted) noexcept {
    int problem = 0;
    bool changed = true;
    // Bounded, since a job that creates threads continuously would never be done.
    for (int pass = 0; pass < 8 && changed && problem == 0; ++pass) {
        changed = false;
        static_cast<void>(for_each_thread(pid, [&](pid_t thread) {
            cpu_set const has = cpu_set::of_thread(thread);
            cpu_set const next = rebound(has, before, wanted);
            if (has.empty() || has == next) return;
            changed = true;
            if (!next.bind_thread(thread) && errno != ESRCH) problem = errno;
        }));
    }
    return problem;
}

}  // namespace detail

}  // namespace ration::process
