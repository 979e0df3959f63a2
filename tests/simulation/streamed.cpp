// SPDX-License-Identifier: BSL-1.0
// A stream of jobs gives the same outcome of each job as the same jobs in memory.
#include <map>
#include <memory>
#include <string>

#include <ration/policies/fifo.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;

namespace {

/// Gives the jobs of a workload one after another. Each is overwritten by the next one.
class forgetful_source final : public sim::job_source {
    std::vector<sim::job_description> jobs_;
    sim::workload kinds_;
    sim::workload_shape shape_;
    sim::job_description present_;
    std::size_t next_ = 0;

public:
    explicit forgetful_source(sim::workload const& all) : jobs_(all.jobs), kinds_(all), shape_(shape_of(all)) {
        kinds_.jobs.clear();
    }
    [[nodiscard]] sim::workload const& kinds() const noexcept override { return kinds_; }
    [[nodiscard]] sim::workload_shape shape() const noexcept override { return shape_; }
    [[nodiscard]] sim::job_description const* next() noexcept override {
        if (next_ == jobs_.size()) return nullptr;
        present_ = jobs_[next_++];
        return &present_;
    }
};

/// The outcomes of a stream, by id.
class collector final : public sim::run_observer {
public:
    std::map<std::uint64_t, sim::job_outcome> outcomes;
    std::map<std::uint64_t, double> lengths;
    std::size_t calls = 0;

    void submitted(nanoseconds, std::uint64_t) noexcept override {}
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override {}
    void outcome_of(std::uint64_t id, sim::job_description const& job, sim::job_outcome const& got) noexcept override {
        outcomes[id] = got;
        lengths[id] = job.length;
        ++calls;
    }
};

[[nodiscard]] bool is_same(sim::job_outcome const& a, sim::job_outcome const& b) {
    return a.submitted == b.submitted && a.started == b.started && a.finished == b.finished &&
           a.acceptable == b.acceptable && a.objective == b.objective && a.device_seconds == b.device_seconds &&
           a.restarts == b.restarts && a.released == b.released && a.stops == b.stops && a.lost_steps == b.lost_steps &&
           a.lost_device_seconds == b.lost_device_seconds;
}

/// Empty if stream and workload give the same.
[[nodiscard]] std::string difference(sim::workload const& jobs, sim::run_outcome const& kept,
                                     sim::run_outcome const& streamed, collector const& got) {
    if (!streamed.jobs.empty()) return "the stream keeps outcomes";
    if (kept.ticks != streamed.ticks || kept.events != streamed.events || kept.changes != streamed.changes ||
        kept.end != streamed.end || kept.how != streamed.how)
        return "ticks, events, changes or the end";
    if (got.calls != got.outcomes.size()) return "an outcome is reported twice";
    for (std::size_t i = 0; i < kept.jobs.size(); ++i) {
        auto const found = got.outcomes.find(i + 1);
        bool const has_arrived = jobs.jobs[i].submitted <= kept.end;
        if ((found != got.outcomes.end()) != has_arrived) return "job " + std::to_string(i + 1) + " is missing";
        if (has_arrived && (!is_same(found->second, kept.jobs[i]) || got.lengths.at(i + 1) != jobs.jobs[i].length))
            return "job " + std::to_string(i + 1);
    }
    return "";
}

template <class P>
[[nodiscard]] std::string difference_under(sim::workload const& jobs, sim::cluster const& machines,
                                           sim::sim_options options) {
    policy_adapter<P> first, second;
    policy_adapter<policies::fifo> fallback;
    auto const kept = sim::simulation(jobs, machines, first, fallback, options).run();
    forgetful_source source(jobs);
    collector got;
    options.observer = &got;
    auto const streamed = sim::simulation(source, machines, second, fallback, options).run();
    if (!kept || !streamed) return "no run";
    return difference(jobs, *kept, *streamed, got);
}

[[nodiscard]] std::vector<sim::fault> some_faults() {
    std::vector<sim::fault> all;
    for (std::uint32_t i = 0; i < 40; ++i) {
        auto const at = static_cast<double>(i) * 1000;
        all.push_back({.at = seconds(at), .what = sim::fault_kind::node_lost, .node = i % 8});
        all.push_back({.at = seconds(at + 900), .what = sim::fault_kind::node_back, .node = i % 8});
    }
    return all;
}

}  // namespace

TEST_CASE("simulation: a stream gives the outcomes of the same jobs in memory", "[sim]") {
    auto jobs = sim::make_rigid({.jobs = 1500, .jobs_per_hour = 150}, {.most_devices = 8, .longest = 20'000});
    auto const machines = nodes_of(8, 4);
    auto const faults = some_faults();
    for (bool const restarts_cost : {false, true}) {
        for (std::size_t i = 0; i < jobs.jobs.size(); ++i)
            jobs.jobs[i].restart_cost = restarts_cost ? static_cast<double>(i % 50) : 0;
        sim::sim_options const options{.faults = faults, .checkpoint = seconds(600), .save = seconds(7)};
        CHECK(difference_under<policies::fifo>(jobs, machines, options) == "");
        CHECK(difference_under<policies::las>(jobs, machines, options) == "");
        CHECK(difference_under<policies::srtf>(jobs, machines, options) == "");
    }
    auto const elastic = sim::make_scaling({.jobs = 200});
    CHECK(difference_under<policies::max_min>(elastic, machines, {}) == "");
}

TEST_CASE("simulation: a stream that is cut off reports the jobs that have arrived", "[sim]") {
    auto const jobs = sim::make_rigid({.jobs = 800, .jobs_per_hour = 400}, {.most_devices = 8});
    CHECK(difference_under<policies::las>(jobs, nodes_of(8, 4), {.limit = seconds(3600)}) == "");
}

TEST_CASE("simulation: a stream with too many active jobs ends with an error", "[sim]") {
    auto const jobs = rigid({{0, 1, 10}, {1, 1, 10}, {2, 1, 10}, {30, 1, 10}});
    policy_adapter<policies::fifo> policy, fallback;
    auto const run = [&](std::size_t most) {
        forgetful_source source(jobs);
        return sim::simulation(source, nodes_of(1, 1), policy, fallback, {.interval = {}, .most_active = most}).run();
    };
    CHECK(run(3));
    auto const refused = run(2);
    REQUIRE(!refused);
    CHECK(refused.failure().code == errc::no_capacity);
    CHECK(std::string_view(refused.failure().subject) == "jobs that are active at once");
}
