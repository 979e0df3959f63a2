// SPDX-License-Identifier: BSL-1.0
#include "run/stop_signals.hpp"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace ration::program {

result<stop_signals> stop_signals::open() {
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (int const number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
    stop_signals s;
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) == 0)
        s.fd_ = process::descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!s.fd_) return error{.code = errc::io, .operation = "listen for signals", .system = errno};
    return s;
}

int stop_signals::read() noexcept {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) ++received_;
    return received_;
}

}  // namespace ration::program
