// SPDX-License-Identifier: BSL-1.0
/// State of a process that a plugin must not change: signals, CPU affinity, the working directory,
/// the mask for new files, floating-point modes.
#pragma once

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/plugin/host/descriptor.hpp>
#include <ration/plugin/host/float_modes.hpp>

namespace ration::plugin {

/// Records the state at construction. About 100 system calls, so it is used for loading and
/// binding, not for ticks.
class process_state {
    struct sigaction handlers_[NSIG] = {};
    sigset_t blocked_{};
    cpu_set_t cpus_{};
    descriptor folder_{::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    mode_t mask_ = current_mask();
    unsigned float_modes_ = detail::float_modes::now();

    /// From /proc, because umask(2) reads it by setting it, which other threads would see. 0 without /proc.
    [[nodiscard]] static mode_t current_mask() noexcept {
        char text[512] = {};  // the line is the second one
        descriptor const file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
        if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
        char const* const line = std::strstr(text, "\nUmask:");
        return line == nullptr ? 0 : static_cast<mode_t>(std::strtoul(line + sizeof "\nUmask:" - 1, nullptr, 8));
    }
    /// True if the working directory is still the recorded one.
    [[nodiscard]] static bool same_place(int folder) noexcept {
        struct stat then{}, now{};
        return ::fstat(folder, &then) == 0 && ::stat(".", &now) == 0 && then.st_dev == now.st_dev &&
               then.st_ino == now.st_ino;
    }
    /// Restores changed signal handlers; true if there were any.
    [[nodiscard]] bool restore_handlers() const noexcept {
        bool changed = false;
        for (int signal = 1; signal < NSIG; ++signal) {
            struct sigaction now{};
            auto const& then = handlers_[signal];
            if (::sigaction(signal, nullptr, &now) != 0 ||
                (now.sa_handler == then.sa_handler && now.sa_flags == then.sa_flags))
                continue;
            changed = true;
            ::sigaction(signal, &then, nullptr);
        }
        return changed;
    }

    /// Restores the blocked signals; true if they were changed.
    [[nodiscard]] bool restore_blocked() const noexcept {
        sigset_t now{};
        ::pthread_sigmask(SIG_SETMASK, &blocked_, &now);
        for (int signal = 1; signal < NSIG; ++signal)
            if (::sigismember(&now, signal) != ::sigismember(&blocked_, signal)) return true;
        return false;
    }
    /// Restores the CPU affinity; true if it was changed.
    [[nodiscard]] bool restore_cpus() const noexcept {
        cpu_set_t now{};
        ::sched_getaffinity(0, sizeof now, &now);
        return !CPU_EQUAL(&now, &cpus_) && ::sched_setaffinity(0, sizeof cpus_, &cpus_) == 0;
    }

public:
    /// Records the present state.
    process_state() noexcept {
        for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, nullptr, &handlers_[signal]);
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
        ::sched_getaffinity(0, sizeof cpus_, &cpus_);  // with more than 1024 CPUs the call fails, then as now
    }

    /// Restores changes, and returns the last of them in words; nullptr if there were none.
    [[nodiscard]] char const* restore() const noexcept {
        char const* what = restore_handlers() ? "replaced a signal handler" : nullptr;
        if (restore_blocked()) what = "changed which signals are blocked";
        if (restore_cpus()) what = "changed the CPUs that it runs on";
        if (folder_ && !same_place(folder_.get())) {
            what = "changed the working directory";
            if (::fchdir(folder_.get()) != 0) what = "changed the working directory for good";
        }
        if (current_mask() != mask_) {
            ::umask(mask_);
            what = "changed the mask for new files";
        }
        if (detail::float_modes::now() != float_modes_) {
            detail::float_modes::set(float_modes_);
            what = "changed the floating-point modes";
        }
        return what;
    }
};

}  // namespace ration::plugin
