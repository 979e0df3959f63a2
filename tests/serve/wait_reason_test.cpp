// SPDX-License-Identifier: BSL-1.0
// Each reason why a job waits, as its text, and the earliest start.
#include "serve/wait_reason.hpp"

#include "config/config.hpp"
#include "policies/policy_log.hpp"
#include "policies/policy_registry.hpp"
#include "serve/service_control.hpp"
#include "support/catch.hpp"

namespace {

using namespace ration;
using namespace ration::program;

constexpr std::int64_t minute = 60'000, now = 1'000'000;

[[nodiscard]] tenant_config tenant(std::string name, std::string parent, std::int64_t quota, std::int64_t limit) {
    tenant_config out;
    out.name = std::move(name);
    out.parent = std::move(parent);
    out.quota[static_cast<std::size_t>(resource_id::gpu)] = quota;
    out.limit[static_cast<std::size_t>(resource_id::gpu)] = limit;
    return out;
}

tenant_tree const no_tenants;

/// Two running jobs of "anna" with two of four devices each, and one job that waits for two devices.
[[nodiscard]] wait_context busy(tenant_tree const& tenants = no_tenants) {
    wait_context in{.now_ms = now, .places = 4, .devices = 4, .policy = "fifo", .tenants = tenants};
    in.run = {{.id = 1, .tenant = "anna", .devices = 2, .needed = 2, .launched = true, .end_ms = now + 12 * minute},
              {.id = 2, .tenant = "anna", .devices = 2, .needed = 2, .launched = true, .end_ms = now + 5 * minute},
              {.id = 3, .tenant = "ben", .needed = 2}};
    return in;
}

[[nodiscard]] std::string queued(stored_job const& job, wait_context const& in,
                                 std::optional<std::size_t> ahead = std::nullopt, bool lacks_devices = false) {
    return wait_in_queue(job, {}, ahead, lacks_devices, in).sentence;
}

}  // namespace

TEST_CASE("a queued job waits for its user, an operator, a time or devices") {
    auto in = busy();
    stored_job job;
    job.paused = true;
    CHECK(queued(job, in, 0) == "waits until ration resume, since its user has paused it");
    job.paused = false;
    in.rest_ms = 3500;
    CHECK(queued(job, in) == "waits for its next launch after one that failed; earliest start in 4 s");
    CHECK(wait_in_queue(job, {}, std::nullopt, false, in).earliest_ms == now + 3500);
    in.rest_ms = 0;
    CHECK(queued(job, in, 0, true) == "waits for devices, of which the service has none");
    CHECK(queued(job, in) == "waits for its turn; its earliest start is unknown");
    in.draining = true;
    CHECK(queued(job, in, 0) == "waits until ration drain --undo, since the service starts no job");
    CHECK(wait_in_run(3, in).sentence == "waits until ration drain --undo, since the service starts no job");
}

TEST_CASE("a queued job waits for jobs that it comes after") {
    auto const in = busy();
    stored_job const job;
    auto const one = wait_in_queue(job, {{"vae-1", now + 12 * minute}}, std::nullopt, false, in);
    CHECK(one.sentence ==
          "waits until job vae-1 completes; earliest start in about 12 min if running jobs end as "
          "estimated");
    auto const two =
        wait_in_queue(job, {{"vae-1", now + minute}, {"gan-2", now + 3 * minute}}, std::nullopt, false, in);
    CHECK(two.sentence ==
          "waits until 2 jobs complete, such as vae-1; earliest start in about 3 min if running jobs "
          "end as estimated");
    auto const unknown = wait_in_queue(job, {{"vae-1", now + minute}, {"gan-2", {}}}, std::nullopt, false, in);
    CHECK(unknown.sentence == "waits until 2 jobs complete, such as vae-1; its earliest start is unknown");
    CHECK(!unknown.earliest_ms);
}

TEST_CASE("a queued job waits for the jobs ahead of it, and for the running ones") {
    auto in = busy();
    in.places = 3;
    stored_job const job;
    CHECK(queued(job, in, 0) ==
          "waits, since at most 3 jobs run at once: no job is ahead; earliest start in "
          "about 5 min if running jobs end as estimated");
    CHECK(queued(job, in, 1) ==
          "waits, since at most 3 jobs run at once: 1 job is ahead; earliest start in about "
          "12 min if running jobs end as estimated");
    CHECK(wait_in_queue(job, {}, 1, false, in).earliest_ms == now + 12 * minute);
    // The end of job 3 is not known
    CHECK(queued(job, in, 14) ==
          "waits, since at most 3 jobs run at once: 14 jobs are ahead; its earliest start "
          "is unknown");
    in.places = 4;
    CHECK(queued(job, in, 0) == "waits for its launch, which comes next");
    in.run[1].end_ms = now - minute;  // it should have ended
    CHECK(queued(job, in, 1) ==
          "waits, since at most 4 jobs run at once: 1 job is ahead; earliest start in about "
          "0 s if running jobs end as estimated");
}

TEST_CASE("a job in the run waits for devices that others hold") {
    auto in = busy();
    CHECK(wait_in_run(3, in).sentence ==
          "waits for 2 gpu: 0 of 4 are free, and no job is ahead; earliest start in "
          "about 5 min if running jobs end as estimated");
    in.run.push_back({.id = 4, .tenant = "ben", .needed = 1});
    CHECK(wait_in_run(4, in).sentence ==
          "waits for 1 gpu: 0 of 4 are free, and 1 job is ahead; earliest start in "
          "about 12 min if running jobs end as estimated");
    in.run[0].end_ms.reset();
    auto const unknown = wait_in_run(4, in);
    CHECK(unknown.sentence == "waits for 1 gpu: 0 of 4 are free, and 1 job is ahead; its earliest start is unknown");
    CHECK(!unknown.earliest_ms);
    CHECK(wait_in_run(1, in).sentence.empty());  // it runs
    CHECK(wait_in_run(9, in).sentence.empty());  // it is in no run
    in.run[2].needed.reset();
    CHECK(wait_in_run(3, in).sentence == "waits for its launch, which comes next");
}

TEST_CASE("a job in the run waits for a policy that has another order than that of arrival") {
    auto in = busy();
    in.policy = "srtf";
    in.rule = "the shortest remaining time first, with preemption";
    CHECK(wait_in_run(3, in).sentence ==
          "waits for 2 gpu: 0 of 4 are free, and no other job waits for some; its earliest start is unknown");
    in.run.push_back({.id = 4, .tenant = "ben", .needed = 1});
    in.run.push_back({.id = 5, .tenant = "ben"});  // needs no devices
    std::string const order =
        "0 of 4 are free, and policy 'srtf' chooses among 2 waiting jobs (the shortest "
        "remaining time first, with preemption); its earliest start is unknown";
    CHECK(wait_in_run(3, in).sentence == "waits for 2 gpu: " + order);
    CHECK(wait_in_run(4, in).sentence == "waits for 1 gpu: " + order);  // that it came later means nothing
    CHECK(!wait_in_run(4, in).earliest_ms);
}

TEST_CASE("fifo and gang start jobs in the order of arrival, unless they heed quotas") {
    auto const rule = [](std::string const& name, std::string const& parameters) {
        auto const read = parse_config("policy = \"" + name + "\"\n" + parameters + "\n", "test.toml",
                                       {.policies = policy_names(), .for_service = true});
        REQUIRE(read.problems.empty());
        diagnostics problems("test");
        auto const policy = make_policy(read.config, name, policy_log::for_good(), problems);
        REQUIRE(policy != nullptr);
        CHECK(rule_of(*policy, name, read.config).gives_devices == (name != "tradl"));
        return rule_of(*policy, name, read.config).rule;
    };
    CHECK(rule("fifo", "").empty());
    CHECK(rule("gang", "gang = { backfill = true }").empty());
    CHECK(rule("fifo", "fifo = { tenants = \"ignore\" }").empty());
    CHECK(rule("fifo", "fifo = { tenants = \"borrow\" }") == "first come, first served, with the quotas of tenants");
    CHECK(rule("fair_queue", "") == "a queue for each tenant, served in turn by weight");
    CHECK(rule("pack", "") == "learners one at a time, each onto the fullest node");  // in random order
    CHECK(rule("tradl", "") == "limits jobs that reached Acceptable");
}

TEST_CASE("a job in the run waits for a limit of its tenant or of one above it") {
    tenant_tree tree;
    tree.tenants = {tenant("lab", "", 0, 5), tenant("anna", "lab", 0, unlimited), tenant("ben", "lab", 0, 1)};
    auto in = busy(tree);
    in.devices = 8;
    CHECK(wait_in_run(3, in).sentence ==
          "waits for 2 gpu: tenant 'ben' holds 0 of its limit of 1; its earliest start "
          "is unknown");
    tree.tenants[2] = tenant("ben", "lab", 0, 2);
    CHECK(wait_in_run(3, in).sentence ==
          "waits for 2 gpu: tenant 'lab' holds 4 of its limit of 5; earliest start in "
          "about 5 min if running jobs end as estimated");
}

TEST_CASE("a job in the run waits for the policy, which may respect quotas") {
    tenant_tree tree;
    tree.tenants = {tenant("anna", "", 4, unlimited), tenant("ben", "", 1, unlimited)};
    auto in = busy(tree);
    in.devices = 6;
    CHECK(wait_in_run(3, in).sentence ==
          "waits for 2 gpu: policy 'fifo' has not granted 2 of the 2 free ones, and "
          "tenant 'ben' holds 0 with a quota of 1; its earliest start is unknown");
    auto plain = busy();
    plain.devices = 6;
    CHECK(wait_in_run(3, plain).sentence ==
          "waits for 2 gpu: policy 'fifo' has not granted 2 of the 2 free ones; its "
          "earliest start is unknown");
}
