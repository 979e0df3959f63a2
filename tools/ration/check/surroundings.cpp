// SPDX-License-Identifier: BSL-1.0
#include "surroundings.hpp"

#include <cfenv>
#include <clocale>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ration::conformance {

surroundings::surroundings() {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (int signal = 1; signal < signals; ++signal) {
        ::sigaction(signal, nullptr, &handlers_[static_cast<std::size_t>(signal)]);
        if (::sigismember(&blocked, signal) == 1) blocked_.push_back(signal);
    }
    for (int stream = 0; stream < 3; ++stream) {
        struct stat about{};
        if (::fstat(stream, &about) == 0) streams_[static_cast<std::size_t>(stream)] = {about.st_dev, about.st_ino};
    }
    std::error_code gone;
    directory_ = std::filesystem::current_path(gone).string();
    if (auto const* const locale = std::setlocale(LC_ALL, nullptr)) locale_ = locale;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment_.emplace_back(*entry);
    cpu_set_t cpus;
    if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        affinity_.resize(sizeof cpus);
        std::memcpy(affinity_.data(), &cpus, sizeof cpus);
    }
    mask_ = ::umask(0);
    ::umask(mask_);
}

std::string surroundings::change_since(surroundings const& before) const {
    for (std::size_t signal = 1; signal < signals; ++signal) {
        auto const &was = before.handlers_[signal], &is = handlers_[signal];
        if (was.sa_handler != is.sa_handler || was.sa_flags != is.sa_flags)
            return fmt::format("it replaced the handler of signal {}: signals belong to the host", signal);
    }
    if (blocked_ != before.blocked_) return "it changed which signals its thread blocks: signals belong to the host";
    for (std::size_t stream = 0; stream < streams_.size(); ++stream)
        if (streams_[stream] != before.streams_[stream])
            return fmt::format("it closed or replaced descriptor {}: descriptors 0 to 2 belong to the host", stream);
    if (directory_ != before.directory_) return "it changed the working directory";
    if (mask_ != before.mask_) return "it changed the umask";
    if (locale_ != before.locale_) return "it changed the locale";
    if (environment_ != before.environment_) return "it changed the environment";
    if (affinity_ != before.affinity_) return "it changed the CPUs that its thread may use";
    return {};
}

std::uint64_t floating_point_mode() noexcept {
#if defined(__x86_64__)
    std::uint16_t x87 = 0;  // NOLINT(misc-const-correctness): the next line writes it
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return std::uint64_t{x87} << 32 | (__builtin_ia32_stmxcsr() & ~0x3Fu);
#elif defined(__aarch64__)
    std::uint64_t control = 0;  // NOLINT(misc-const-correctness): the next line writes it
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
#else
    return static_cast<std::uint64_t>(std::fegetround());
#endif
}

// Neither opens a file: the sandbox does not allow that.
std::int64_t threads_of(std::string const& process) {
    struct stat tasks{};
    if (::stat(fmt::format("/proc/{}/task", process).c_str(), &tasks) != 0) return 0;
    return static_cast<std::int64_t>(tasks.st_nlink) - 2;
}

std::int64_t threads() { return threads_of("self"); }

std::int64_t open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    std::int64_t open = 0;
    for (int file = 0; file < static_cast<int>(limit.rlim_cur); ++file) open += ::fcntl(file, F_GETFD) >= 0;
    return open;
}

}  // namespace ration::conformance
