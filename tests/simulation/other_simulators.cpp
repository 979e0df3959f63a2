// SPDX-License-Identifier: BSL-1.0
// Small workloads on which a rule of another simulator decides who runs: where a policy here has that rule the times
// are those of that simulator, and where it has another one they are not. bench/sim/results.md, "Beside other
// simulators", has the large ones.
#include <algorithm>
#include <cmath>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;

namespace {

/// When each job ends, in seconds.
template <class P>
[[nodiscard]] std::vector<double> ends(sim::workload const& jobs, sim::cluster const& machines, P const& policy,
                                       double interval = 0) {
    policy_adapter<P> asked(policy);
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, asked, fallback, {.interval = seconds(interval)});
    auto const outcome = run.run();
    RATION_ASSERT(outcome && outcome->how == sim::ending::all_done, "a test's premise does not hold");
    std::vector<double> all;
    for (auto const& job : outcome->jobs) all.push_back(to_seconds(job.finished));
    return all;
}

using times = std::vector<double>;
using free_devices = std::vector<std::int64_t>;  // by node

/// When each job ends, first come, first served, without policies and events: one after the other starts as soon as
/// `take(free, devices)` finds its place.
template <class Take>
[[nodiscard]] times first_come_first_served(sim::workload const& jobs, free_devices free, Take const& take) {
    struct running {
        double end;
        free_devices held;
    };
    std::vector<running> there;
    times ends;
    double now = 0;
    for (auto const& job : jobs.jobs) {
        now = std::max(now, to_seconds(job.submitted));
        for (;;) {
            std::erase_if(there, [&](running const& r) {
                for (std::size_t node = 0; r.end <= now && node < free.size(); ++node) free[node] += r.held[node];
                return r.end <= now;
            });
            free_devices before = free;
            if (take(free, job.request)) {
                for (std::size_t node = 0; node < free.size(); ++node) before[node] -= free[node];
                there.push_back({now + job.length, before});
                break;
            }
            free = before;
            now = std::min_element(there.begin(), there.end(), [](running const& a, running const& b) {
                      return a.end < b.end;
                  })->end;
        }
        ends.push_back(now + job.length);
    }
    return ends;
}

[[nodiscard]] bool take_any(free_devices& free, std::int64_t devices) {
    for (auto& here : free) {
        std::int64_t const taken = std::min(here, devices);
        here -= taken;
        devices -= taken;
    }
    return devices == 0;
}

/// A node of 8 with the fewest free devices that suffice, or several empty ones.
[[nodiscard]] bool take_whole(free_devices& free, std::int64_t devices) {
    for (std::int64_t part = std::min<std::int64_t>(devices, 8); part > 0;
         devices -= part, part = std::min<std::int64_t>(devices, 8)) {
        std::int64_t* tightest = nullptr;
        for (auto& here : free)
            if (here >= part && (tightest == nullptr || here < *tightest)) tightest = &here;
        if (tightest == nullptr) return false;
        *tightest -= part;
    }
    return true;
}

[[nodiscard]] std::size_t differ(times const& a, times const& b) {
    std::size_t count = a.size() != b.size();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += std::abs(a[i] - b[i]) > 1e-3;
    return count;
}

}  // namespace

TEST_CASE("first come, first served gives each of 600 jobs the end that Tiresias' and Lucid's rules give it", "[sim]") {
    auto const jobs = sim::make_rigid({.seed = 3, .jobs = 600, .jobs_per_hour = 12}, {});
    auto const anywhere = first_come_first_served(jobs, free_devices(8, 8), take_any),
               whole = first_come_first_served(jobs, free_devices(8, 8), take_whole);
    CHECK(differ(ends(jobs, nodes_of(8, 8), policies::fifo{}), anywhere) == 0);
    CHECK(differ(ends(jobs, nodes_of(8, 8), policies::gang({.backfill = false})), whole) == 0);
    CHECK(differ(anywhere, whole) > 100);  // it makes a difference
}

// Lucid: first come, first served, and a job is on as few nodes as it fits on. From 2 s on 3 devices are free on each
// node: the third job, of 6, waits for the first one's, and the fourth behind it, although there is one for it. The
// fifth takes both nodes.
TEST_CASE("fifo takes free devices wherever they are; gang without backfill waits for a node, as Lucid's does",
          "[sim]") {
    auto const jobs = rigid({{.submitted = 0, .devices = 5, .length = 100},
                             {.submitted = 1, .devices = 5, .length = 200},
                             {.submitted = 2, .devices = 6, .length = 50},
                             {.submitted = 3, .devices = 1, .length = 10},
                             {.submitted = 4, .devices = 16, .length = 30},
                             {.submitted = 5, .devices = 2, .length = 20}});
    CHECK(ends(jobs, nodes_of(2, 8), policies::gang({.backfill = false})) == times{100, 201, 150, 110, 231, 251});
    CHECK(ends(jobs, nodes_of(2, 8), policies::fifo{}) == times{100, 201, 52, 62, 231, 251});
}

// Both jobs sink to the last queue, after 7200 s of one device: the first before it is stopped for the second at 8000
// s, the second at 15200 s. The authors of Tiresias put it behind the first, which waits there: 16200 and 16500 s.
// Whether one looks between events makes no difference.
TEST_CASE("a running job that sinks to where another waits goes on; in Tiresias' simulator it makes room", "[sim]") {
    auto const jobs = rigid({{.submitted = 0, .length = 9000}, {.submitted = 8000, .length = 7500}});
    for (double const interval : {0, 10, 60})
        CHECK(ends(jobs, nodes_of(1, 1), policies::las{}, interval) == times{16500, 15500});
}

// At 90 s the first has 10 s on 3 devices left, which is less time than 20 s on 1, and more service: Tiresias'
// shortest-gpu goes by the latter.
TEST_CASE("the least time left is not the least service left", "[sim]") {
    auto const jobs =
        rigid({{.submitted = 0, .devices = 3, .length = 100}, {.submitted = 90, .devices = 1, .length = 20}});
    CHECK(ends(jobs, nodes_of(1, 3), policies::srtf({.measure = policies::job_measure::service})) == times{120, 110});
    CHECK(ends(jobs, nodes_of(1, 3), policies::srtf{}) == times{100, 120});
}
