// SPDX-License-Identifier: BSL-1.0
// How long the backend takes for its own calls while the job runs: plan, apply with its read-back, verify, observe;
// freezing and thawing; a job's group from nothing and to nothing.
//   bench.cgroup.change [TURNS]   (200)
#include <algorithm>
#include <chrono>
#include <vector>

#include "run.hpp"

namespace {

using namespace cgroup_bench;

class samples {
    std::vector<double> microseconds_;

public:
    template <class Action>
    void time(Action action) {
        auto const start = std::chrono::steady_clock::now();
        action();
        microseconds_.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    void print(char const* what) {
        std::sort(microseconds_.begin(), microseconds_.end());
        auto const at = [&](double part) {
            return microseconds_[static_cast<std::size_t>(part * static_cast<double>(microseconds_.size() - 1))];
        };
        std::printf("%-22s %9.1f %9.1f %9.1f\n", what, at(0.5), at(0.95), at(1));
    }
};

}  // namespace

int main(int argc, char** argv) {
    int const turns = argc > 1 ? std::atoi(argv[1]) : 200;
    cgroup::kernel_io machine;
    auto groups = open(machine);
    samples add, place, plan, apply, verify, observe, freeze, thaw, remove;
    for (int turn = 0; turn < turns / 10 + 1; ++turn) {
        spinner const busy;
        add.time([&] { need(groups.add(job, "spinner")); });
        place.time([&] { need(groups.place(job, busy.pid())); });
        for (std::int64_t const amount : {300, 500, 200, 800, 100, 900, 400, 600, 700, 1000}) {
            ration::plan<cgroup::operation> ops;
            plan.time([&] {
                need(groups.plan({.job = job, .node = 0, .resource = resource_id::cpu, .amount = amount}, ops));
            });
            apply.time([&] { need(groups.apply(ops.at(0))); });
            verify.time([&] { need(groups.verify(ops.at(0))); });
            observe.time([&] { need(groups.observe(job) ? result<void>() : result<void>(error{})); });
        }
        freeze.time([&] { need(groups.freeze(job)); });
        thaw.time([&] { need(groups.thaw(job)); });
        remove.time([&] { need(groups.remove(job)); });
    }
    std::printf("microseconds                median       95 %%       most\n");
    add.print("add a job");
    place.print("place a process");
    plan.print("plan cpu");
    apply.print("apply");
    verify.print("verify, read back");
    observe.print("observe");
    freeze.print("freeze");
    thaw.print("thaw");
    remove.print("kill and remove");
    return 0;
}
