// SPDX-License-Identifier: BSL-1.0
// Tenants in simulated runs: quotas, and usage that decays.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ration/policies/fair_tree.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using rule = policies::tenant_rule;

namespace {

constexpr auto gpu_index = static_cast<std::size_t>(resource_id::gpu);
constexpr double arrival = 1000.5, interval = 1, length = 5000;

/// The first tenant has eight jobs of one device, the second comes later with one of four. Each has a quota of four, of
/// which the second one lends `lent`.
[[nodiscard]] sim::workload owner_and_borrower(std::int64_t lent) {
    std::vector<rigid_job> jobs(8, {.length = length});
    jobs.push_back({.submitted = arrival, .devices = 4, .length = length});
    auto made = rigid(jobs);
    made.jobs.back().tenant = 1;
    made.tenants = {"borrower", "owner"};
    made.tenant_terms.resize(2);
    for (std::size_t t = 0; t < 2; ++t) {
        made.tenant_terms[t].id = t + 1;
        made.tenant_terms[t].quota[gpu_index] = 4;
    }
    made.tenant_terms[1].lend[gpu_index] = lent;
    return made;
}

/// The most devices that the first tenant held.
class most_borrowed final : public sim::run_observer {
    std::map<std::uint64_t, std::int64_t> held_;

public:
    std::int64_t most = 0;

    void submitted(nanoseconds, std::uint64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override {}
    void holds(nanoseconds, std::uint64_t job, std::int64_t devices) noexcept override {
        held_[job] = devices;
        std::int64_t sum = 0;
        for (auto const& [id, amount] : held_) sum += id <= 8 ? amount : 0;
        most = std::max(most, sum);
    }
};

struct quota_run {
    double owner_waits = 0;  ///< seconds
    std::int64_t most_borrowed = 0;
};

template <Policy P>
[[nodiscard]] quota_run run_with(std::int64_t lent, typename P::parameters const& parameters) {
    auto const jobs = owner_and_borrower(lent);
    most_borrowed watch;
    policy_adapter<P> policy{P(parameters)};
    policy_adapter<policies::fifo> fallback;
    auto const machines = nodes_of(2, 4);
    sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(interval), .observer = &watch});
    auto const outcome = run.run();
    RATION_ASSERT(outcome && outcome->rejected == 0, "a test's premise does not hold");
    return {to_seconds(outcome->jobs[8].started) - arrival, watch.most};
}

/// The rule of tenants. Learners have one device, since the borrower's own jobs are on both nodes.
template <Policy P>
[[nodiscard]] typename P::parameters parameters_with(rule by) {
    typename P::parameters parameters{.tenants = by};
    if constexpr (requires { parameters.learner; }) parameters.learner = 1;
    return parameters;
}

}  // namespace

TEMPLATE_TEST_CASE("quota: the owner's job starts within one tick, though all devices are lent", "[sim][tenants]",
                   policies::fifo, policies::las, policies::srtf, policies::gang, policies::pack, policies::spread) {
    auto const reclaimed = run_with<TestType>(4, parameters_with<TestType>(rule::reclaim));
    CHECK(reclaimed.most_borrowed == 8);
    CHECK(reclaimed.owner_waits >= 0);
    CHECK(reclaimed.owner_waits <= interval);
    // Control: nothing is lent, and devices stay free for the owner.
    auto const kept = run_with<TestType>(0, parameters_with<TestType>(rule::reclaim));
    CHECK(kept.most_borrowed == 4);
    CHECK(kept.owner_waits <= interval);
}

TEMPLATE_TEST_CASE("quota: without reclaiming the owner waits for the borrower's jobs to end", "[sim][tenants]",
                   policies::fifo, policies::gang, policies::pack, policies::spread) {
    auto const waited = run_with<TestType>(4, parameters_with<TestType>(rule::borrow));
    CHECK(waited.most_borrowed == 8);
    CHECK(waited.owner_waits == length - arrival);
}

namespace {

/// Seconds from the arrival of the second tenant until the first one starts a job again. The first tenant has the
/// device alone for `alone` seconds, and both have jobs of `job` seconds.
[[nodiscard]] double served_alone(double alone, double half_life, double job) {
    auto const jobs_of_one = static_cast<std::size_t>(2.5 * alone / job) + 2;
    std::vector<rigid_job> jobs(jobs_of_one, {.length = job});
    for (std::size_t i = 0; i < jobs_of_one; ++i) jobs.push_back({.submitted = alone, .length = job});
    auto made = rigid(jobs);
    made.tenants = {"first", "second"};
    for (std::size_t i = jobs_of_one; i < made.jobs.size(); ++i) made.jobs[i].tenant = 1;
    policy_adapter<policies::fair_tree> policy;
    policy_adapter<policies::fifo> fallback;
    auto const machines = nodes_of(1, 1);
    sim::simulation run(made, machines, policy, fallback,
                        {.interval = {}, .limit = seconds(3 * alone), .half_life = seconds(half_life)});
    auto const outcome = run.run();
    RATION_ASSERT(outcome, "a test's premise does not hold");
    double again = 3 * alone;
    for (std::size_t i = 0; i < jobs_of_one; ++i)
        if (double const started = to_seconds(outcome->jobs[i].started); started > alone && started < again)
            again = started;
    return again - alone;
}

}  // namespace

TEST_CASE("decayed usage: a newcomer is served alone until usage is even", "[sim][tenants]") {
    constexpr double half_life = 86'400, job = half_life / 1000;
    for (double const alone : {0.5 * half_life, half_life, 2 * half_life}) {
        INFO(alone / half_life << " half-lives alone");
        double const closed = half_life * std::log2(2 - std::exp2(-alone / half_life));
        CHECK(served_alone(alone, half_life, job) == Approx(closed).epsilon(0.02));
    }
    double const day = half_life;
    CHECK(served_alone(day, 100 * half_life, job) == Approx(100 * day * std::log2(2 - std::exp2(-0.01))).epsilon(0.02));
    // Controls: usage that never decays counts in full, and usage that decays at once does not count.
    CHECK(served_alone(day, 0, job) == Approx(day).epsilon(0.02));
    CHECK(served_alone(day, job / 4, job) <= 3 * job);
}
