// SPDX-License-Identifier: BSL-1.0
// How much CPU time a busy loop gets for what it was granted.
//   bench.cgroup.fidelity [SECONDS [TOLERANCE]]   SECONDS for each share (5); TOLERANCE in points (2), or relative with
//   a % (15%)
// Exit code: 0 within the tolerance, 1 outside, 77 where no cgroups can be used. The time is the process's own CPU
// clock, not the counters of the groups. The run's weight is the largest, so that what else runs here takes little.
#include <cmath>
#include <cstring>
#include <ctime>

#include "run.hpp"

namespace {

using namespace cgroup_bench;

[[nodiscard]] double seconds_on(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Share of a core that the process gets, in percent.
[[nodiscard]] double measure(int pid, double length) {
    clockid_t used{};
    if (::clock_getcpuclockid(pid, &used) != 0) return -1;
    double const cpu = seconds_on(used), wall = seconds_on(CLOCK_MONOTONIC);
    ::usleep(static_cast<useconds_t>(length * 1e6));
    double const got = seconds_on(used) - cpu;
    return 100 * got / (seconds_on(CLOCK_MONOTONIC) - wall);
}

}  // namespace

int main(int argc, char** argv) {
    double const length = argc > 1 ? std::atof(argv[1]) : 5;
    double const tolerance = argc > 2 ? std::atof(argv[2]) : 2;
    bool const relative = argc > 2 && std::strchr(argv[2], '%') != nullptr;
    cgroup::kernel_io machine;
    auto groups = open(machine);
    need(groups.add(job, "spinner"));
    // Others on this machine should not matter: the question is what the quota lets through, not what competition
    // takes.
    need(cgroup::set(groups.run(), *cgroup::weight::of(10'000)));
    need(groups.set(job, *cgroup::weight::of(10'000)));
    spinner const busy;
    need(groups.place(job, busy.pid()));
    auto const kind = groups.hierarchies().owner(cgroup::controller::cpu).kind;
    std::printf("cpu controller: cgroup %s, %g s each\nasked %%   got %%   off\n", cgroup::name_of(kind).data(),
                length);
    bool within = true;
    for (int const percent : {10, 25, 50, 75}) {
        hold(groups, percent * 10);
        ::usleep(300'000);  // what was saved up before is spent
        double const got = measure(busy.pid(), length);
        double const off = relative ? 100 * (got - percent) / percent : got - percent;
        within = within && std::abs(off) <= tolerance;
        std::printf("%7d %7.2f %+5.2f%s%s\n", percent, got, off, relative ? " %" : "",
                    std::abs(off) <= tolerance ? "" : "  outside");
    }
    need(groups.remove(job));
    return within ? 0 : 1;
}
