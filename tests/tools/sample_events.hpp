// SPDX-License-Identifier: BSL-1.0
/// One event of every kind, with all fields set to something that can be recognised.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <ration/host/snapshot_store.hpp>

#include "events/events.hpp"

struct sample_events {
    std::vector<std::string> command{"train", "--name", "a \"b\"\n\xff"};
    std::vector<std::string> items{"data/a.bin", "data/b.bin"}, tenants{"alice"};
    ration::snapshot_store store;
    ration::snapshot data;
    std::array<ration::grant, 2> grants{
        {{.job = 1, .node = 0, .resource = 0, .reason = 4, .group = 7, .amount = ration::unlimited},
         {.job = 0, .node = 0, .resource = 1, .reason = 0, .group = 0, .amount = 250}}};
    std::vector<ration::program::event> all;

    sample_events() {
        fill_store();
        add_what_jobs_do();
        add_what_ration_does();
        add_ends();
        add_what_devices_do();
    }
    sample_events(sample_events const&) = delete;
    sample_events& operator=(sample_events const&) = delete;

private:
    void add(ration::program::event_body body) {
        all.push_back({{static_cast<std::int64_t>(all.size())}, std::move(body)});
    }

    void add_what_jobs_do() {
        using namespace ration;
        using namespace ration::program;
        machine_facts const machine{.cpus = 4, .cpu_model = "a cpu", .memory = {1 << 30}, .kernel = "Linux 6"};
        add(run_started{.policy = "tradl",
                        .policy_version = "1.0.0",
                        .label = "tradl:alpha=0.9",
                        .round = 2,
                        .parameters = {{"alpha", 0.9}, {"strict", true}, {"scenario", std::string("AO")}},
                        .isolation = "none",
                        .seed = std::numeric_limits<std::uint64_t>::max(),
                        .unix_time = 1'700'000'000,
                        .cpus = 2,
                        .tick = milliseconds(500),
                        .file = "jobs.toml",
                        .source = "policy = \"tradl\"\n",
                        .machine = machine,
                        .controls = {{"cpu", "cgroup v1", ""}, {"memory", "process", "not limited"}},
                        .devices = {"cpu-0", "cpu-1"},
                        .schema = store.schema()});
        add(job_started{.job = "vae",
                        .id = {3},
                        .incarnation = 1,
                        .pid = 77,
                        .command = command,
                        .devices = "cpu-0,cpu-1",
                        .cpus = "0-3",
                        .placement = "GPU 0000:17:00.0 on NUMA node 0."});
        add(program::job_progress{
            .job = "vae", .incarnation = 1, .step = 10, .metric = "loss", .value = 0.1, .count = 5, .smoothed = 0.3});
        add(program::job_progress{.job = "vae",
                                  .incarnation = 1,
                                  .step = 11,
                                  .metric = "loss",
                                  .value = std::numeric_limits<double>::quiet_NaN(),
                                  .smoothed = std::nullopt});
        add(program::tier_reached{.job = "vae", .tier = 1, .step = 12, .value = 119.5, .after = seconds(3)});
        add(condition_changed{.job = "vae", .now = condition::stalled, .why = "no step for 60 s"});
    }

    void add_what_ration_does() {
        using namespace ration;
        using namespace ration::program;
        add(decision{.number = 6,
                     .seed = 9,
                     .budget = milliseconds(100),
                     .took = {1234},
                     .schema = store.schema(),
                     .shown = &data,
                     .left = &data,
                     .status = -3,
                     .grants = grants});
        add(change_applied{.job = "vae",
                           .operation = {.job = {3},
                                         .resource = resource_id::cpu,
                                         .when = timing::live,
                                         .subject = "cpu.max",
                                         .old_value = "max 100000",
                                         .new_value = "50000 100000"},
                           .took = {180'000},
                           .reason = "at fair share"});
        add(change_deferred{.job = "vae", .resource = "cpu", .amount = unlimited, .why = deferral::dead_band});
        add(grant_rejected{.row = grants[1], .rule = check_rule::over_capacity, .detail = "more than there is"});
        add(warning{.subject = "vae", .message = "12 messages with a wrong token"});
        add(policy_logged{.policy = "mine.so", .level = "debug", .text = "tick 6"});
        add(policy_logged{.policy = "mine.so", .level = "error", .text = "a\x1b[2Jb", .for_people = true});
    }

    void add_ends() {
        using namespace ration;
        using namespace ration::program;
        add(job_ended{.job = "vae",
                      .incarnation = 1,
                      .how = condition::failed,
                      .exit_code = 3,
                      .signal = std::nullopt,
                      .step = 40,
                      .why = "exit code 3"});
        add(job_ended{.job = "mlp",
                      .incarnation = 1,
                      .how = condition::failed,
                      .exit_code = std::nullopt,
                      .signal = 9,
                      .step = 41,
                      .why = "",
                      .level_met = 0.97});
        add(run_ended{{.policy = "tradl",
                       .jobs = {{.name = "vae",
                                 .arrived = seconds(1),
                                 .started = seconds(2),
                                 .acceptable_at = seconds(3),
                                 .objective_at = std::nullopt,
                                 .ended_at = seconds(4),
                                 .how = condition::failed,
                                 .why = "exit code 3",
                                 .step = 40,
                                 .released = true,
                                 .level_met = 0.97}},
                       .makespan = seconds(5),
                       .mean_cpu = 1.5,
                       .available_cpu = 1.75,
                       .approximate = {"cpu is limited by stopping processes"},
                       .interrupted = true,
                       .lost_events = 2}});
    }

    void add_what_devices_do() {
        using namespace ration;
        using namespace ration::program;
        add(resize_changed{.job = "vae",
                           .incarnation = 1,
                           .what = resize_step::failed,
                           .from = 2,
                           .to = 4,
                           .devices = "cpu-0,cpu-1",
                           .why = "its checkpoint failed"});
        add(device_changed{.device = "GPU-1", .what = device_change::cordoned, .why = "the driver reports Xid 79"});
        add(delivered{.job = "vae", .incarnation = 1, .step = 1200, .files = 2, .folder = "/out/tradl/vae.acceptable"});
        add(item_decision{.of = {.number = 2,
                                 .seed = 2,
                                 .budget = milliseconds(100),
                                 .took = {4321},
                                 .schema = store.schema(),
                                 .shown = &data,
                                 .left = &data,
                                 .grants = grants},
                          .items = items,
                          .tenants = tenants});
        add(item_changed{.item = "data/a.bin", .before = 0, .after = 4096, .took = {99}, .reason = "it serves"});
        add(level_changed{
            .job = "web", .holds = true, .step = 90, .metric = "p95", .value = 0.15, .met = 0.9, .slack = 0.25});
    }

    /// Two jobs, one node; a column of every type, one of them two values wide.
    void fill_store() {
        using namespace ration;
        auto const ids = *store.declare<std::uint64_t>("jobs/id");
        auto const states = *store.declare<std::uint32_t>("jobs/state");
        auto const windows = *store.declare<double>("jobs/loss.window", 2);
        auto const remaining = *store.declare<float>("jobs/x.rough");
        auto const capacity = *store.declare<std::int64_t>("nodes/capacity.cpu");
        if (!store.resize(table_id::jobs, 2) || !store.resize(table_id::nodes, 1)) return;
        store[ids][0] = 3;
        store[ids][1] = std::numeric_limits<std::uint64_t>::max();
        store[states][0] = 1;
        store[states][1] = 4;
        store[windows][0] = 0.1;
        store[windows][1] = std::numeric_limits<double>::infinity();
        store[windows][2] = std::numeric_limits<double>::quiet_NaN();
        store[windows][3] = -1e-300;
        store[remaining][0] = 0.5f;
        store[capacity][0] = -2000;
        data = store.view();
    }
};
