// SPDX-License-Identifier: BSL-1.0
// Small workloads for the tests of the simulator's figures, and policies to run them under.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/bounds.hpp>
#include <ration/sim/simulation.hpp>
#include <ration/sim/summary.hpp>

namespace sim_program {

using namespace ration;
using namespace ration::sim;

/// Goes at k^power with k devices in its first half, and at k^(power / 2) in its second.
class bending_model final : public job_model {
    double power_;
    [[nodiscard]] double speed(double devices, double step, double length) const noexcept {
        return devices < 1 ? 0 : std::pow(devices, step < length / 2 ? power_ : power_ / 2);
    }

public:
    explicit bending_model(double power) noexcept : power_(power) {}
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        return {.steps_per_second = speed(static_cast<double>(held.devices), step, job.length),
                .until = step < job.length / 2 ? job.length / 2 : job.length};
    }
    void show(job_description const& job, double step, std::uint32_t, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = speed(static_cast<double>(k), step, job.length);
            out.batch[k] = 0;
        }
    }
};

/// A job that wants all of its devices or none.
[[nodiscard]] inline job_description rigid(double submitted, std::int64_t devices, double length) {
    return {.submitted = seconds(submitted), .request = devices, .least = devices, .most = devices, .length = length};
}

[[nodiscard]] inline workload of_jobs(std::vector<job_description> jobs) {
    return {.name = "synthetic",
            .jobs = std::move(jobs),
            .job_names = {},
            .tenants = {"default"},
            .models = {std::make_shared<rigid_model>()},
            .model_names = {"rigid"}};
}

[[nodiscard]] inline cluster of_nodes(std::size_t nodes, std::int64_t devices) {
    return {.groups = {{.nodes = nodes, .devices = devices}}};
}

/// Gives elastic jobs of one node random numbers of devices, and takes them away again.
struct random_shares {
    using policy_concept = policy_tag;
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "jobs/min.gpu">,
                in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;
    static constexpr meta about{.id = "test.random-shares", .version = "1.0.0"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        std::int64_t left = t.get<"nodes/capacity.gpu">()[0];
        std::minstd_rand rng(static_cast<unsigned>(t.seed() + 1));
        bool given = false;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!is_active(static_cast<job_state>(t.get<"jobs/state">()[row]))) continue;
            auto const least = t.get<"jobs/min.gpu">()[row], most = std::min(t.get<"jobs/max.gpu">()[row], left);
            std::int64_t amount = 0;
            if (most >= least && (!given || rng() % 3 != 0))
                amount = least + static_cast<std::int64_t>(rng()) % (most - least + 1);
            if (amount != t.get<"jobs/held.gpu">()[row] && !out.set(row, 0, resource_id::gpu, amount))
                return status::capacity;
            left -= amount;
            given |= amount > 0;
        }
        return status::ok;
    }
};

template <class P>
[[nodiscard]] run_outcome run(workload const& jobs, cluster const& machines, P policy = {},
                              sim_options const& options = {}) {
    policy_adapter<P> asked(std::move(policy));
    policy_adapter<policies::none> fallback;
    auto ran = simulation(jobs, machines, asked, fallback, options).run();
    if (ran) return std::move(ran).value();
    run_outcome refused;
    refused.how = ending::bad_grant;
    return refused;
}

// seconds; a run of some hundred events cannot gain more from the clock's half nanoseconds
inline constexpr double rounding = 1e-6;

[[nodiscard]] inline lower_bounds limits_of(workload const& jobs, cluster const& machines) {
    return bounds_of(jobs, needs_of(jobs, machines), machines);
}

/// Empty when neither bound is above what the run reached.
[[nodiscard]] inline std::string beaten(lower_bounds const& least, workload const& jobs, cluster const& machines,
                                        run_outcome const& ran) {
    if (ran.how != ending::all_done) return std::string("the run did not end: ") + std::string(name_of(ran.how));
    if (ran.rejected > 0) return "a grant was refused";
    auto const reached = figures_of(jobs, machines, needs_of(jobs, machines), ran);
    if (least.mean_jct > reached.mean_jct + rounding)
        return "mean JCT " + std::to_string(reached.mean_jct) + " < " + std::to_string(least.mean_jct);
    if (least.makespan > reached.makespan + rounding)
        return "makespan " + std::to_string(reached.makespan) + " < " + std::to_string(least.makespan);
    return {};
}

[[nodiscard]] inline figures of(workload const& jobs, cluster const& machines, run_outcome const& ran) {
    return figures_of(jobs, machines, needs_of(jobs, machines), ran);
}

}  // namespace sim_program
