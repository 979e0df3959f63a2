// SPDX-License-Identifier: BSL-1.0
// A policy that gets the list of changes gives the same schedule as one that reads every row at each tick.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <ration/policies/drf.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>
#include <ration/testing/found_changes.hpp>

#include "scale/every_row.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using ration::bench::every_row;

namespace {

/// Crashes, and losses of the eight nodes, each of which comes back.
[[nodiscard]] std::vector<sim::fault> faults_of(std::uint64_t seed) {
    std::vector<sim::fault> all;
    sim::rng const random(seed, 9);
    for (std::uint64_t i = 0; i < 60; ++i) {
        double const at = static_cast<double>(i) * 900 + random.uniform(4 * i) * 900;
        auto const node = static_cast<std::uint32_t>(random.uniform(4 * i + 1) * 8);
        if (i % 4 == 0) {
            all.push_back({.at = seconds(at), .what = sim::fault_kind::job_crashes, .node = node, .device = 1});
            continue;
        }
        all.push_back({.at = seconds(at), .what = sim::fault_kind::node_lost, .node = node});
        double const gone = random.uniform(4 * i + 2) * 3000;
        all.push_back({.at = seconds(at + gone), .what = sim::fault_kind::node_back, .node = node});
    }
    std::ranges::stable_sort(all, {}, [](sim::fault const& f) { return f.at.count; });
    return all;
}

[[nodiscard]] std::string difference(sim::run_outcome const& a, sim::run_outcome const& b) {
    for (std::size_t i = 0; i < a.jobs.size(); ++i)
        if (a.jobs[i].started != b.jobs[i].started || a.jobs[i].finished != b.jobs[i].finished ||
            a.jobs[i].restarts != b.jobs[i].restarts || a.jobs[i].stops != b.jobs[i].stops)
            return "job " + std::to_string(i + 1);
    return a.ticks == b.ticks && a.changes == b.changes ? "" : "ticks or changes";
}

[[nodiscard]] sim::workload rigid_jobs_of(std::uint64_t seed) {
    auto jobs =
        sim::make_rigid({.seed = seed, .jobs = 1500, .jobs_per_hour = 100}, {.most_devices = 8, .longest = 40'000});
    jobs.tenants.resize(5, "one of five");
    for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
        jobs.jobs[i].restart_cost = static_cast<double>(i % 50);
        jobs.jobs[i].tenant = static_cast<std::uint32_t>(i * i % 5);
    }
    return jobs;
}

/// Rigid jobs of five tenants with quotas, of which the last one does not lend.
[[nodiscard]] sim::workload jobs_within_quotas(std::uint64_t seed) {
    constexpr auto gpu_index = static_cast<std::size_t>(resource_id::gpu);
    auto jobs = rigid_jobs_of(seed);
    jobs.tenant_terms.resize(5);
    for (std::size_t t = 0; t < 5; ++t) {
        jobs.tenant_terms[t].id = t + 1;
        jobs.tenant_terms[t].quota[gpu_index] = static_cast<std::int64_t>(2 * t);
        jobs.tenant_terms[t].lend[gpu_index] = t < 4 ? unlimited : 0;
    }
    return jobs;
}

/// Elastic jobs of different weights, of which some need more devices at least than others can have.
[[nodiscard]] sim::workload elastic_jobs_of(std::uint64_t seed) {
    auto jobs = sim::make_scaling({.seed = seed, .jobs = 150, .jobs_per_hour = 20}, {.mean_seconds = 6000});
    for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
        jobs.jobs[i].least = static_cast<std::int64_t>(i % 7) + 2;
        jobs.jobs[i].most = std::max(jobs.jobs[i].least, static_cast<std::int64_t>(i % 12));
        jobs.jobs[i].weight = static_cast<double>(i % 3) + 0.5;
    }
    return jobs;
}

template <class P>
void check_same_schedule(P const& policy, sim::workload const& jobs, std::uint64_t seed, nanoseconds interval) {
    auto const machines = nodes_of(8, 4);
    auto const faults = faults_of(seed);
    sim::sim_options const options{
        .interval = interval, .faults = faults, .checkpoint = seconds(600), .save = seconds(7)};
    policy_adapter<P> listed(policy);
    every_row<P> all(policy);
    policy_adapter<policies::fifo> fallback;
    sim::simulation with_list(jobs, machines, listed, fallback, options);
    sim::simulation without(jobs, machines, all, fallback, options);
    auto const a = with_list.run();
    auto const b = without.run();
    REQUIRE(a);
    REQUIRE(b);
    CHECK(a->how == sim::ending::all_done);
    CHECK(a->faults > 10);
    CHECK(difference(*a, *b) == "");
}

}  // namespace

TEST_CASE("simulation: the list of changes makes no difference to a schedule, with faults and restarts", "[sim]") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        for (nanoseconds const interval : {nanoseconds{}, seconds(60)}) {
            CAPTURE(seed, interval.count);
            auto const rigid = rigid_jobs_of(seed), elastic = elastic_jobs_of(seed);
            check_same_schedule(policies::fifo{}, rigid, seed, interval);
            check_same_schedule(policies::fifo{{.backfill = true}}, rigid, seed, interval);
            check_same_schedule(policies::las{}, rigid, seed, interval);
            check_same_schedule(policies::las{{.promote = 2}}, rigid, seed, interval);
            check_same_schedule(policies::drf{}, rigid, seed, interval);
            check_same_schedule(policies::drf{{.backfill = false}}, rigid, seed, interval);
            check_same_schedule(policies::max_min{}, elastic, seed, interval);
            check_same_schedule(policies::max_min{{.round = 100}}, rigid, seed, interval);
            check_same_schedule(policies::gang{}, rigid, seed, interval);
            check_same_schedule(policies::gang{{.learner = 3, .backfill = false}}, rigid, seed, interval);
            check_same_schedule(policies::pack{{.learner = 2}}, rigid, seed, interval);
            check_same_schedule(policies::spread{{.give_up = 50}}, rigid, seed, interval);
            check_same_schedule(policies::srtf{}, rigid, seed, interval);
            check_same_schedule(policies::srtf{{.measure = policies::job_measure::service}}, rigid, seed, interval);
        }
}

TEST_CASE("simulation: the list of changes makes no difference to a schedule with tenants", "[sim][tenants]") {
    using policies::tenant_rule;
    auto const jobs = jobs_within_quotas(4);
    for (nanoseconds const interval : {nanoseconds{}, seconds(60)}) {
        CAPTURE(interval.count);
        check_same_schedule(policies::fifo{{.backfill = true, .tenants = tenant_rule::reclaim}}, jobs, 4, interval);
        check_same_schedule(policies::gang{{.learner = 3, .tenants = tenant_rule::reclaim}}, jobs, 4, interval);
        check_same_schedule(policies::gang{{.backfill = false, .tenants = tenant_rule::borrow}}, jobs, 4, interval);
        check_same_schedule(policies::pack{{.learner = 2, .tenants = tenant_rule::quota}}, jobs, 4, interval);
        check_same_schedule(policies::spread{{.give_up = 50, .tenants = tenant_rule::reclaim}}, jobs, 4, interval);
        check_same_schedule(policies::max_min{{.round = 100, .by_tenant = true}}, jobs, 4, interval);
    }
}

namespace {

/// Jobs of another kind that request another number of devices every ten minutes, and sometimes none.
class requesting final : public sim::job_model {
    std::shared_ptr<sim::job_model const> of_;

public:
    explicit requesting(std::shared_ptr<sim::job_model const> of) : of_(std::move(of)) {}
    [[nodiscard]] sim::speed_segment at(sim::job_description const& job, sim::allocation const& held,
                                        double step) const noexcept override {
        return of_->at(job, held, step);
    }
    void show(sim::job_description const& job, double step, std::uint32_t type, std::int64_t devices,
              sim::scaling const& out) const noexcept override {
        of_->show(job, step, type, devices, out);
    }
    [[nodiscard]] bool makes_requests() const noexcept override { return true; }
    [[nodiscard]] std::int64_t requested(sim::job_description const& job, double,
                                         nanoseconds now) const noexcept override {
        return (now.count / seconds(600).count + job.submitted.count / 1000) % 10;
    }
};

/// The device-seconds of all jobs.
template <class P>
[[nodiscard]] double device_seconds(P const& rule, sim::workload const& jobs) {
    policy_adapter<P> policy(rule);
    policy_adapter<policies::fifo> fallback;
    auto const machines = nodes_of(8, 4);
    auto const outcome = sim::simulation(jobs, machines, policy, fallback, {.interval = seconds(60)}).run();
    REQUIRE(outcome);
    double sum = 0;
    for (auto const& job : outcome->jobs) sum += job.device_seconds;
    return sum;
}

}  // namespace

TEST_CASE("simulation: requests of running jobs are in the list of changes, and bound their devices", "[sim]") {
    policies::max_min const heeding{{.round = 100, .heed_wants = true}};
    auto jobs = elastic_jobs_of(1);
    double const without_requests = device_seconds(heeding, jobs);
    for (auto& model : jobs.models) model = std::make_shared<requesting>(model);
    CHECK(device_seconds(policies::max_min{{.round = 100}}, jobs) == without_requests);
    CHECK(device_seconds(heeding, jobs) < without_requests);
    for (nanoseconds const interval : {nanoseconds{}, seconds(60)}) check_same_schedule(heeding, jobs, 1, interval);
}

namespace {

/// A `las` for some of the ticks: in others it fails, or wants no list.
class las_at_times final : public any_policy {
    policy_adapter<policies::las> policy_;
    std::uint64_t fails_each_, unlisted_each_, ticks_ = 0;

public:
    las_at_times(std::uint64_t fails_each, std::uint64_t unlisted_each)
        : fails_each_(fails_each), unlisted_each_(unlisted_each) {}
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        return policy_.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_.reads(column); }
    [[nodiscard]] bool follows_changes() const noexcept override {
        return unlisted_each_ == 0 || ticks_ % unlisted_each_ != 1;
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        if (++ticks_ % fails_each_ == 0) return status::internal;
        return policy_.decide(t, out);
    }
};

[[nodiscard]] sim::run_outcome run_with(any_policy& policy, any_policy& fallback) {
    auto const jobs = rigid_jobs_of(6);
    auto const machines = nodes_of(8, 4);
    auto const faults = faults_of(6);
    sim::simulation run(jobs, machines, policy, fallback, {.faults = faults});
    auto outcome = run.run();
    REQUIRE(outcome);
    return std::move(outcome).value();
}

constexpr std::uint64_t never = 1'000'000'000;

}  // namespace

TEST_CASE("simulation: a fallback that reads the service of jobs changes nothing while it is not asked", "[sim]") {
    policy_adapter<policies::las> alone, beside;
    policy_adapter<policies::fifo> reads_none;
    policy_adapter<policies::gittins> reads_all;
    CHECK(difference(run_with(alone, reads_none), run_with(beside, reads_all)) == "");
}

TEST_CASE("simulation: a fallback sees the service of jobs at present, as does a policy without a list", "[sim]") {
    las_at_times one(9, 0), other(9, 0);
    policy_adapter<policies::las> follows;
    every_row<policies::las> reads_all(policies::las{});
    auto const a = run_with(one, follows);
    CHECK(a.refused_ticks > 50);
    CHECK(difference(a, run_with(other, reads_all)) == "");
    las_at_times pauses(never, 3);
    policy_adapter<policies::las> always;
    policy_adapter<policies::fifo> unused;
    CHECK(difference(run_with(pauses, unused), run_with(always, unused)) == "");
}

namespace {

/// Follows changes, and compares the list with the rows that differ from those of its last tick.
class auditor final : public any_policy {
    any_policy& policy_;
    testing::found_changes found_{false};
    std::vector<column_info> schema_;

public:
    std::string unlisted;

    explicit auditor(any_policy& policy) : policy_(policy) {}
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        schema_.assign(schema.begin(), schema.end());
        return policy_.bind(schema, most);
    }
    [[nodiscard]] bool follows_changes() const noexcept override { return true; }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        auto const* const found = found_.between(t.data, schema_);
        for (auto const table : {table_id::jobs, table_id::nodes}) {
            auto const& listed = *t.changes[static_cast<std::size_t>(table)];
            auto const& differs = *found[static_cast<std::size_t>(table)];
            if (listed.everything != 0) continue;
            for (std::size_t i = 0; i < differs.count; ++i)
                if (std::find(listed.row, listed.row + listed.count, differs.row[i]) == listed.row + listed.count)
                    unlisted += "row " + std::to_string(differs.row[i]) + " of table " +
                                std::to_string(static_cast<int>(table)) + " at tick " + std::to_string(t.number) + "\n";
            if (differs.moved != 0 && listed.moved == 0) unlisted += "moved rows\n";
        }
        return policy_.decide(t, out);
    }
};

}  // namespace

TEST_CASE("simulation: lists every row that it has changed", "[sim]") {
    auto const faults = faults_of(4);
    auto const machines = nodes_of(8, 4);
    auto const jobs = sim::make_rigid({.seed = 4, .jobs = 300, .jobs_per_hour = 100}, {.longest = 20'000});
    policy_adapter<policies::las> las;
    auditor watched(las);
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, watched, fallback, {.faults = faults});
    REQUIRE(run.run());
    CHECK(watched.unlisted == "");
}
