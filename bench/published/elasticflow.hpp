// SPDX-License-Identifier: BSL-1.0
// ElasticFlow's jobs with deadlines: how many are met with the fewest devices that suffice, with all that help, and
// with those that users asked for. Source: D. Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for
// Distributed Deep Learning", ASPLOS 2023; the trace and the speeds are of its artifact (bench/data/elasticflow).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ration/policies/edf.hpp>
#include <ration/policies/las.hpp>
#include <ration/sim/rate_model.hpp>
#include <ration/sim/trace/read.hpp>

#include "scene.hpp"

namespace published {

struct elasticflow_scale {
    std::size_t jobs = 876;       ///< of the trace, the first ones
    double control_times = 1000;  ///< as long until each deadline in the control; 1 breaks it
};

namespace elasticflow {

/// The numbers of devices that the artifact measured.
inline constexpr std::int64_t most_devices = 64;

/// The trace on devices whose speeds are known, with the requested numbers of devices.
[[nodiscard]] inline sim::workload jobs_of(std::string const& data, std::size_t most_jobs, double restart_cost) {
    auto const rates = sim::trace::contents((data + "/rates/rates.csv").c_str());
    RATION_ASSERT(rates, "a file of the project cannot be read");
    std::vector<std::string> const types{"a100"};
    auto const library = sim::read_rates(*rates, types);
    RATION_ASSERT(library, "the speeds of the project are valid");
    auto jobs = sim::trace::read_file((data + "/elasticflow/philly_103959.csv").c_str(), *library);
    RATION_ASSERT(jobs, "the trace of the project is valid");
    jobs->jobs.resize(std::min(jobs->jobs.size(), most_jobs));
    for (auto& job : jobs->jobs) job.restart_cost = restart_cost;
    return std::move(jobs).value();
}
/// The same jobs on any number of devices.
[[nodiscard]] inline sim::workload resizable(sim::workload jobs) {
    for (auto& job : jobs.jobs) {
        job.least = 1;
        job.most = most_devices;
    }
    return jobs;
}
/// With this many times as long until each deadline.
[[nodiscard]] inline sim::workload relaxed(sim::workload jobs, double times) {
    for (auto& job : jobs.jobs)
        job.deadline = job.submitted + seconds(times * to_seconds(job.deadline - job.submitted));
    return jobs;
}

/// Jobs that are in time alone on all devices that help, from their submission on. No schedule meets more deadlines.
[[nodiscard]] inline std::size_t possible(sim::workload const& jobs) {
    std::size_t count = 0;
    for (auto const& job : jobs.jobs) {
        auto const size = static_cast<std::size_t>(job.most) + 1;
        std::vector<double> goodput(size), fixed(size);
        std::vector<std::int64_t> batch(size);
        jobs.models[job.model]->show(job, 0, 0, 8, {goodput, fixed, batch});
        double const fastest = *std::max_element(fixed.begin(), fixed.end());
        count += job.restart_cost + job.length / fastest <= to_seconds(job.deadline - job.submitted);
    }
    return count;
}

/// `edf` with admission. It also lists the jobs that it admits.
class recorded_edf {
    policies::edf policy_;
    std::set<std::uint64_t>* admitted_;
    std::vector<std::byte> state_;

public:
    using policy_concept = policy_tag;
    using inputs = policies::edf::inputs;
    static constexpr meta about = policies::edf::about;

    explicit recorded_edf(std::set<std::uint64_t>& admitted) noexcept : admitted_(&admitted) {}

    [[nodiscard]] status prepare(limits const& most) noexcept { return policy_.prepare(most); }
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const answer = policy_.decide(t, out);
        state_.resize(policy_.save({}));
        static_cast<void>(policy_.save(state_));
        state_reader in(state_);
        policies::detail::division last;
        std::uint64_t rows = 0, id = 0;
        std::uint8_t admission = 0;
        std::int64_t devices = 0;
        bool keeps_sizes = false, is_read = in.get(last) && in.get(keeps_sizes) && in.get(rows);
        for (; is_read && rows > 0; --rows) {
            is_read = in.get(id) && in.get(admission) && in.get(devices);
            if (admission == 1) admitted_->insert(id);
        }
        RATION_ASSERT(is_read && in.finished(), "the state of edf is its last division and the admission of each job");
        return answer;
    }
};

struct outcome {
    std::size_t in_time = 0;
    double hours = 0;  ///< mean JCT
};

/// On nodes of eight devices. The devices are divided every ten minutes, and when jobs come or go.
template <Policy P>
[[nodiscard]] outcome run(sim::workload const& jobs, std::size_t nodes, P const& policy) {
    auto machines = nodes_of(nodes, 8);
    machines.types = {"a100"};
    auto const got = simulate(jobs, machines, policy, {.interval = seconds(600)});
    outcome all;
    for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
        auto const& job = jobs.jobs[i];
        auto const finished_at = got.jobs[i].finished;
        all.in_time += finished_at.count >= 0 && finished_at <= job.deadline;
        all.hours += to_seconds(finished_at - job.submitted) / 3600 / static_cast<double>(jobs.jobs.size());
    }
    return all;
}

/// Admitted jobs, and those of them that were in time.
struct admissions {
    std::size_t jobs = 0, in_time = 0;
};
[[nodiscard]] inline admissions admissions_of(sim::workload const& jobs, std::size_t nodes) {
    auto machines = nodes_of(nodes, 8);
    machines.types = {"a100"};
    std::set<std::uint64_t> admitted;
    auto const got = simulate(jobs, machines, recorded_edf(admitted), {.interval = seconds(600)});
    admissions all{.jobs = admitted.size()};
    for (std::uint64_t const id : admitted) {
        auto const finished_at = got.jobs[id - 1].finished;
        all.in_time += finished_at.count >= 0 && finished_at <= jobs.jobs[id - 1].deadline;
    }
    return all;
}

/// The rules of a table, on one workload.
struct rules {
    outcome admission, least, most, las;

    rules(sim::workload const& elastic_jobs, sim::workload const& fixed_jobs, std::size_t nodes)
        : admission(run(elastic_jobs, nodes, policies::edf({.rule = policies::deadline_rule::admission}))),
          least(run(elastic_jobs, nodes, policies::edf({.rule = policies::deadline_rule::least}))),
          most(run(elastic_jobs, nodes, policies::edf({.rule = policies::deadline_rule::most}))),
          las(run(fixed_jobs, nodes, policies::las())) {}

    void print(findings& found, char const* title, bool with_theirs) const {
        found.print("%s\n%-40s %8s %8s %10s\n", title, "", "theirs", "ours", "JCT, h");
        auto const row = [&](char const* what, char const* theirs, outcome const& got) {
            found.print("%-40s %8s %8zu %10.2f\n", what, with_theirs ? theirs : "", got.in_time, got.hours);
        };
        row("edf, rule = admission", "788", admission);
        row("edf, rule = least", "780", least);
        row("edf, rule = most", "73", most);
        row("las, with the requested devices", "403", las);
    }
};

}  // namespace elasticflow

[[nodiscard]] inline findings elasticflow_scenario(std::string const& data, elasticflow_scale const& scale = {}) {
    using namespace elasticflow;
    findings found;
    auto const fixed = jobs_of(data, scale.jobs, 0), any = resizable(fixed);
    auto const with_restarts = jobs_of(data, scale.jobs, 30);
    rules const plenty(any, fixed, 16), slow(resizable(with_restarts), with_restarts, 16), scarce(any, fixed, 2),
        loose(relaxed(any, scale.control_times), relaxed(fixed, scale.control_times), 16);
    outcome const rigid = run(fixed, 16, policies::edf());
    admissions const all = admissions_of(any, 16), few = admissions_of(any, 2);
    plenty.print(found, ("deadlines met by " + std::to_string(any.jobs.size()) + " jobs on 128 devices").c_str(),
                 any.jobs.size() == 876);
    found.print("%-40s %8s %8zu %10.2f\n", "edf, with the requested devices", "", rigid.in_time, rigid.hours);
    found.print("%-40s %8s %8zu\n%-40s %8s %8zu\n\n", "any schedule, at most", "", possible(any),
                "any schedule, with the requested devices", "", possible(fixed));
    slow.print(found, "the same with restarts of 30 s", false);
    scarce.print(found, "\non 16 devices", false);
    found.print("%-40s %8s %8zu of %zu\n\n", "admitted jobs that are in time", "", few.in_time, few.jobs);
    loose.print(found, "control: a thousand times as long until each deadline, on 128 devices", false);
    found.expect(plenty.admission.in_time == possible(any) && plenty.least.in_time == possible(any),
                 "on 128 devices edf meets every deadline that any schedule can meet");
    found.expect(rigid.in_time == possible(fixed) && plenty.las.in_time <= possible(fixed),
                 "with the requested devices edf meets every deadline that can be met on these, and las no more");
    found.expect(plenty.most.in_time < plenty.admission.in_time && 10 * scarce.most.in_time < scarce.least.in_time,
                 "plain earliest deadline first wastes devices: it meets fewer, and hardly any where they are scarce");
    found.expect(slow.admission.in_time + 5 >= plenty.admission.in_time, "restarts of 30 s hardly matter");
    found.expect(all.in_time == all.jobs && few.in_time == few.jobs, "every admitted job is in time");
    found.expect(few.jobs < all.jobs && scarce.least.in_time > scarce.admission.in_time,
                 "where devices are scarce, fewer are admitted, and without admission more deadlines are met");
    found.expect(loose.admission.in_time == any.jobs.size() && loose.most.in_time == any.jobs.size() &&
                     loose.las.in_time == any.jobs.size(),
                 "control: far deadlines are met by every rule");
    return found;
}

}  // namespace published
