// SPDX-License-Identifier: BSL-1.0
// What a policy is shown of the jobs of a run, and when.
#include "run/job_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <ration/host/any_policy.hpp>

#include "run/elastic_jobs.hpp"
#include "run/per_job.hpp"
#include "support/catch.hpp"

using Catch::Approx;
using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] job_config plain(std::string name, double at) {
    job_config out{};
    out.name = std::move(name);
    out.at = seconds(at);
    out.target = {.metric = "loss", .acceptable = 0.5, .objective = 0.1};
    return out;
}

/// What the tests say of a job with devices.
struct needs {
    bounds devices{};
    bytes gpu_memory{};
    bounds batch{1, unlimited};
    std::vector<double> speedup{};
    std::vector<std::int64_t> batches{};
};

[[nodiscard]] job_config elastic(std::string name, double at, needs what) {
    auto out = plain(std::move(name), at);
    auto& wants = out.elastic.emplace();
    wants.devices = what.devices;
    wants.gpu_memory = what.gpu_memory;
    wants.batch = what.batch;
    wants.speedup = std::move(what.speedup);
    wants.batches = std::move(what.batches);
    return out;
}

[[nodiscard]] std::vector<std::string> four_devices() { return {"d0", "d1", "d2", "d3"}; }

/// A run on four devices, of which the first two are large.
struct synthetic_run {
    std::vector<job_config> const jobs;
    std::vector<std::string> const devices = four_devices();
    elastic_jobs machines{devices};
    job_table board;
    std::vector<training_progress> const progress;

    explicit synthetic_run(std::vector<job_config> of)
        : jobs(std::move(of)), board(jobs, {.cpu = {4000}, .memory = {1 << 30}, .devices = 4}),
          progress(initial_progress(board.jobs())) {
        machines.table().devices().set_memory(std::vector<bytes>{{80}, {80}, {16}, {16}});
        for (auto& job : board.jobs())
            if (job.config->elastic) machines.add(job.id, {}, to_seconds(job.config->elastic->restart_cost));
        for (auto& job : board.jobs()) {
            job.devices = machines.find(job.id);
            if (job.config->elastic) machines.table().needs(job.id, job.config->elastic->gpu_memory);
        }
    }
    void refresh(nanoseconds now) { board.refresh(now, progress); }
    template <class T>
    [[nodiscard]] std::vector<T> row(char const* column, std::size_t of, std::size_t width = 1) const {
        auto const found = board.store().find<T>(column);
        REQUIRE(found);
        T const* const first = &board.store().at(*found, of);
        return {first, first + width};
    }
    [[nodiscard]] std::int64_t whole(char const* column, std::size_t of = 0) const {
        return row<std::int64_t>(column, of)[0];
    }
    [[nodiscard]] double real(char const* column, std::size_t of = 0) const { return row<double>(column, of)[0]; }

    /// The job gets devices, and works with them.
    void launch(std::size_t job, std::int64_t count, nanoseconds now) {
        auto& one = board.jobs()[job];
        one.devices->want(count);
        machines.advance(now);
        one.devices->launch().made(now);
        one.devices->launch().hello(true, 0, "", now);
        one.devices->launch().stepped(now);
        one.process.emplace();
        one.now = condition::running;
        one.launched_at = now;
    }
};

}  // namespace

TEST_CASE("job_table: shows the loss of the next tier and the number of all steps, once known") {
    auto end_only = plain("end-only", 0);
    end_only.target.acceptable.reset();
    synthetic_run run({plain("both", 0), end_only});
    auto progress = run.progress;
    run.board.arrive({});
    auto const report = [&](std::size_t job, double loss, std::uint64_t total) {
        progress[job].take(
            {.type = progress::message_type::step, .step = 5, .total_steps = total, .loss_count = 1, .loss_mean = loss},
            {});
        run.board.refresh({}, progress);
    };
    run.board.refresh({}, progress);
    CHECK(run.real("jobs/loss.target", 0) == 0.5);
    CHECK(run.real("jobs/loss.target", 1) == 0.1);
    CHECK(std::isnan(run.real("jobs/total_steps")));
    report(0, 0.4, 900);
    CHECK(run.real("jobs/loss.target") == 0.1);
    CHECK(run.real("jobs/total_steps") == 900);
    report(0, 0.1, 0);
    CHECK(std::isnan(run.real("jobs/loss.target")));
    CHECK(run.real("jobs/total_steps") == 900);
}

TEST_CASE("job_table: a level is tier 1 while it holds, and fills its two columns") {
    auto service = plain("web", 0);
    service.target = {.metric = "p95", .level = level_config{.bound = 0.2, .over = seconds(10)}};
    synthetic_run run({plain("training", 0), service});
    auto progress = run.progress;
    run.board.arrive({});
    auto const shown_at = [&](double second) {
        progress[1].update_level(seconds(second));
        run.board.refresh(seconds(second), progress);
        return std::tuple(run.row<std::uint32_t>("jobs/tier", 1)[0], run.real("jobs/slo.met", 1));
    };
    auto const report = [&](double value, double second) {
        return progress[1].take({.type = progress::message_type::eval, .step = 7, .metric = "p95", .value = value},
                                seconds(second));
    };
    using shown = std::tuple<std::uint32_t, double>;
    CHECK(shown_at(0) == shown(0, 0));
    CHECK(std::isnan(run.real("jobs/slo.slack", 1)));  // no value yet
    CHECK(run.real("jobs/slo.met", 0) == 0);           // no level
    CHECK(run.real("jobs/slo.slack", 0) == 0);
    CHECK_FALSE(report(0.1, 1));  // a level neither ends a job nor starts a command
    CHECK(shown_at(11) == shown(1, 1));
    CHECK(run.real("jobs/slo.slack", 1) == Approx(0.5));
    CHECK(run.real("jobs/loss", 1) == Approx(0.1));
    CHECK(std::isnan(run.real("jobs/loss.target", 1)));
    CHECK(run.row<std::uint32_t>("jobs/tiers", 1)[0] == 2);
    CHECK_FALSE(report(0.5, 11));
    CHECK(shown_at(16) == shown(0, 0.5));
    CHECK(run.real("jobs/slo.slack", 1) == Approx(-0.5));
    CHECK_FALSE(progress[1].acceptable_at);
    progress[1].end_incarnation(seconds(20));
    CHECK(shown_at(40) == shown(0, 0));  // nothing is known of the window
    CHECK(std::isnan(run.real("jobs/slo.slack", 1)));
}

TEST_CASE("job_table: rows come in the order of arrival, at the very time") {
    synthetic_run run({plain("late", 5), plain("first", 0), plain("second", 0)});
    CHECK_FALSE(run.board.arrived(run.board.jobs()[1]));
    CHECK(run.board.arrive(seconds(0)));
    CHECK_FALSE(run.board.arrive(seconds(4)));
    CHECK(run.board.job(job_id{1}).config->name == "first");
    CHECK(run.board.job(job_id{2}).config->name == "second");
    CHECK(run.board.store().rows(table_id::jobs) == 2);
    CHECK(run.board.arrive(seconds(5)));
    CHECK(run.board.job(job_id{3}).config->name == "late");
    CHECK(run.whole("jobs/submitted", 2) == seconds(5).count);
}

namespace {

/// Grants CPU to the job of the greatest priority alone.
struct most_urgent {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::int64_t, "jobs/priority">>;
    static constexpr meta about{.id = "org.example.most-urgent", .version = "1.0.0"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const priority = t.get<"jobs/priority">();
        auto const urgent = std::ranges::max_element(priority) - priority.begin();
        return out.set(static_cast<std::size_t>(urgent), 0, resource_id::cpu, 1000) ? status::ok : status::capacity;
    }
};

}  // namespace

TEST_CASE("job_table: a policy reads the priority that the file gives to a job") {
    auto jobs = std::vector{plain("usual", 0), plain("urgent", 0), plain("later", 0)};
    jobs[1].priority = 5;
    jobs[2].priority = -5;
    synthetic_run run(jobs);
    REQUIRE(run.board.arrive(seconds(0)));
    policy_adapter<most_urgent> policy{most_urgent()};
    REQUIRE(policy.bind(run.board.store().schema(), {.jobs = 3, .nodes = 1}));
    std::array<grant, 3> rows{};
    grants out(rows);
    CHECK(policy.decide({.data = run.board.store().view()}, out) == status::ok);
    CHECK(run.board.job(job_id{rows[0].job + 1}).config->name == "urgent");
}

TEST_CASE("job_table: what a job is at each number of devices is a list that goes on as it ends") {
    synthetic_run run(
        {elastic("unmeasured", 0, {.devices = {1, 3}, .batch = {32, 64}}),
         elastic("measured", 0, {.devices = {1, unlimited}, .speedup = {0, 1, 1.8}, .batches = {0, 100, 200}})});
    CHECK(run.board.arrive(seconds(0)));
    CHECK(run.row<double>("jobs/speedup", 0, 5) == std::vector<double>{0, 1, 2, 3, 4});
    CHECK(run.row<std::int64_t>("jobs/batch", 0, 5) == std::vector<std::int64_t>{0, 32, 32, 32, 32});
    CHECK(run.row<double>("jobs/speedup", 1, 5) == std::vector<double>{0, 1, 1.8, 1.8, 1.8});
    CHECK(run.row<std::int64_t>("jobs/batch", 1, 5) == std::vector<std::int64_t>{0, 100, 200, 200, 200});
    CHECK(run.whole("nodes/capacity.batch") == 0);
}

TEST_CASE("job_table: a job accepts a batch only if the file lists its best ones") {
    synthetic_run run({elastic("unmeasured", 0, {.devices = {1, 2}, .batch = {32, 64}}),
                       elastic("measured", 0, {.devices = {1, 2}, .batch = {48, 96}, .batches = {0, 64}})});
    CHECK(run.board.arrive(seconds(0)));
    using range = std::pair<std::int64_t, std::int64_t>;
    CHECK(range(run.whole("jobs/min.batch", 0), run.whole("jobs/max.batch", 0)) == range(0, 0));
    CHECK(range(run.whole("jobs/min.batch", 1), run.whole("jobs/max.batch", 1)) == range(48, 96));
}

TEST_CASE("job_table: a job is not shown what it could never have") {
    synthetic_run run({elastic("large", 0, {.devices = {1, 4}, .gpu_memory = {40}}),
                       elastic("greedy", 0, {.devices = {1, 9}}), plain("plain", 0)});
    CHECK(run.board.arrive(seconds(0)));
    run.refresh(seconds(0));
    CHECK(run.whole("jobs/request.gpu", 0) == 2);
    CHECK(run.whole("jobs/request.gpu", 1) == 4);
    CHECK(run.whole("jobs/max.gpu", 0) == 2);
    CHECK(run.whole("jobs/max.gpu", 1) == 4);
    CHECK(run.whole("jobs/max.gpu", 2) == 0);
    run.launch(1, 4, seconds(1));
    run.refresh(seconds(1));
    // None is left for it now
    CHECK(std::pair(run.whole("jobs/min.gpu", 0), run.whole("jobs/max.gpu", 0)) ==
          std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("job_table: a job whose size cannot change accepts the one that it has") {
    synthetic_run run({elastic("a", 0, {.devices = {1, 4}})});
    CHECK(run.board.arrive(seconds(0)));
    run.launch(0, 2, seconds(0));
    auto const accepts = [&] { return std::pair(run.whole("jobs/min.gpu"), run.whole("jobs/max.gpu")); };
    using limits = std::pair<std::int64_t, std::int64_t>;
    run.refresh(seconds(1));
    CHECK(accepts() == limits(1, 4));
    run.board.jobs()[0].devices->launch().hello(false, 0, "", seconds(2));  // it takes no commands any more
    run.refresh(seconds(2));
    CHECK(accepts() == limits(2, 2));
}

TEST_CASE("job_table: what a job has used is counted while it lives") {
    synthetic_run run({elastic("a", 0, {.devices = {1, 4}})});
    CHECK(run.board.arrive(seconds(0)));
    run.refresh(seconds(10));
    CHECK(run.real("jobs/attained") == 0);
    CHECK(run.whole("jobs/started") == -1);
    CHECK(run.real("jobs/restart_cost") == 10);
    run.launch(0, 2, seconds(10));
    auto& job = run.board.jobs()[0];
    job.started_at = seconds(3);
    CHECK(run.whole("jobs/requested.gpu") == 0);
    run.board.devices()->set_requested(job, 3);
    auto const used = run.board.store().find<double>("jobs/used.cpu");
    REQUIRE(used);
    run.board.store()[*used][0] = 1500;
    run.refresh(seconds(14));
    CHECK(run.real("jobs/attained") == 8);
    CHECK(run.real("jobs/used.gpu") == 2);
    CHECK(run.whole("jobs/started") == seconds(10).count);  // of its present launch
    CHECK(run.whole("jobs/requested.gpu") == 3);
    CHECK(run.board.used_cores(job) == 1.5);
    job.process.reset();
    run.refresh(seconds(20));
    CHECK(run.real("jobs/attained") == 8);
    CHECK(run.real("jobs/used.gpu") == 0);
    CHECK(run.board.used_cores(job) == 0);
}

TEST_CASE("a job that is added later takes the slot of a forgotten one, and starts without its data") {
    std::vector<job_config> const none;
    job_table board(none, {.cpu = {4000}, .memory = {1 << 30}}, 2);
    auto const added = [&](char const* name, std::uint32_t incarnations = 0) -> live_job& {
        return board.add(std::make_shared<job_config const>(plain(name, 0)), incarnations);
    };
    per_job<int> notes(board.capacity());
    auto& first = added("a");
    auto& second = added("b", 3);
    CHECK(second.run.value == 3);
    CHECK(board.free_slots() == 0);
    CHECK(board.arrive(nanoseconds{}));
    notes[first] = 7;
    notes[second] = 8;
    first.now = condition::finished;
    board.forget(first);
    CHECK(first.forgotten);
    CHECK_FALSE(board.arrived(first));
    REQUIRE(board.store().rows(table_id::jobs) == 1);
    CHECK(std::as_const(board).store()[board.columns().id][0] == second.id.value);
    CHECK(second.row == 0);
    CHECK(&board.job(second.id) == &second);
    auto& third = added("c");
    CHECK(third.slot == 0);
    CHECK(third.row == 1);
    CHECK(third.id.value > second.id.value);
    CHECK(notes[third] == 0);
    CHECK(notes[second] == 8);
    CHECK(board.arrive(nanoseconds{}));
    CHECK(std::as_const(board).store()[board.columns().id][1] == third.id.value);
    CHECK(&board.job(third.id) == &third);
}
