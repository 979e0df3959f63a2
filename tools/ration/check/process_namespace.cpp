// SPDX-License-Identifier: BSL-1.0
#include "process_namespace.hpp"

#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace ration::conformance {

void die_with(pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto const now = ::getppid();
    if (now != parent && now != 0) ::_exit(1);  // 0: the parent is outside the namespace
}

// The first process of a namespace ignores signals that it sends to itself, abort() among them. So it is not the one
// that runs plugins.
process_namespace::process_namespace() {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return;
    auto const parent = ::getpid();
    first_ = ::fork();
    if (first_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a probe: fork");
    if (first_ > 0) return;
    die_with(parent);
    for (;;) ::pause();
}

process_namespace::~process_namespace() {
    if (first_ < 0) return;
    ::kill(first_, SIGKILL);
    while (::waitpid(first_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace ration::conformance
