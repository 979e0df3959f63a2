// SPDX-License-Identifier: BSL-1.0
// A run of one job that computes without end, and errors as a sentence.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ration/cgroup/backend.hpp>
#include <ration/cgroup/kernel_io.hpp>

namespace cgroup_bench {

using namespace ration;

inline constexpr job_id job{1};

// Ends the program with the error's sentence; 77 when no cgroups can be used at all.
inline void need(result<void> const& done, int code = 2) {
    if (!done) {
        error const& why = done.failure();
        std::fprintf(stderr, "%s %s: %s. %s\n", why.operation, why.subject.c_str(), name_of(why.code).data(),
                     why.remedy);
        std::exit(code);
    }
}

[[nodiscard]] inline cgroup::backend open(cgroup::io& machine) {
    auto opened = cgroup::backend::open(machine, {.name = "bench", .cpus = {}});
    need(opened ? result<void>() : result<void>(opened.failure()), 77);
    return std::move(opened).value();
}

// A process that spins, killed when this program ends.
class spinner {
    int pid_;

public:
    spinner() : pid_(::fork()) {
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) asm volatile("");  // or the loop would be undefined and could vanish
        }
    }
    spinner(spinner const&) = delete;
    spinner& operator=(spinner const&) = delete;
    ~spinner() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] int pid() const { return pid_; }
};

inline void hold(cgroup::backend& groups, std::int64_t amount) {
    ration::plan<cgroup::operation> ops;
    need(groups.plan({.job = job, .node = 0, .resource = resource_id::cpu, .amount = amount}, ops));
    for (cgroup::operation const& op : ops) {
        need(groups.apply(op));
        need(groups.verify(op));
    }
}

}  // namespace cgroup_bench
