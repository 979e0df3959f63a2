// SPDX-License-Identifier: BSL-1.0
// The cost of a decision through `ration decide`, beside the same policy in process in the same run: with whole tables
// and with changed rows only. Exits with 1 when an answer differs from the one in process.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <ration/host/rng_sequence.hpp>
#include <ration/testing/synthetic_cluster.hpp>

#include "child.hpp"
#include "decide/cluster_requests.hpp"
#include "decide/in_process.hpp"
#include "policies/policy_registry.hpp"

namespace {

using namespace ration;
using namespace ration::program;

constexpr std::size_t jobs = 256, nodes = 32, ticks = 200;
constexpr double most_extra_ms = 1;

[[nodiscard]] double median(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

/// Milliseconds that `what` takes.
template <class What>
[[nodiscard]] double timed(What what) {
    auto const start = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// 256 running jobs, a tenth of which report progress in each second; at each tenth one ends and one arrives.
class steady_life {
    ration::testing::synthetic_cluster& cluster_;
    rng_sequence rng_{1};
    std::uint64_t last_id_ = 0;

public:
    explicit steady_life(ration::testing::synthetic_cluster& cluster) : cluster_(cluster) {
        for (std::size_t i = 0; i < jobs; ++i) arrive();
    }

    void step(std::uint64_t tick) {
        cluster_.pass(seconds(1));
        for (std::size_t i = 0; i < jobs / 10; ++i) work(rng_.below(jobs));
        if (tick % 10 == 9) replace(rng_.below(jobs));
        cluster_.show_held();
    }

private:
    void arrive() {
        ration::testing::synthetic_job job{.id = ++last_id_, .state = job_state::running};
        job.submitted = job.started = cluster_.now();
        job.maximum.fill(unlimited);
        job.minimum[static_cast<std::size_t>(resource_id::gpu)] = 1;
        job.request[static_cast<std::size_t>(resource_id::gpu)] = static_cast<std::int64_t>(1 + rng_.below(8));
        cluster_.arrive(job);
    }
    void work(std::size_t row) {
        auto job = cluster_.jobs()[row];
        job.done += 10;
        job.loss *= 0.99;
        job.attained += static_cast<double>(cluster_.held_by(row, resource_id::gpu));
        job.used[0] = static_cast<double>(rng_.below(4000));
        job.tier = static_cast<std::uint32_t>(rng_.below(3));
        cluster_.set(row, job);
    }
    void replace(std::size_t row) {
        auto const gone = std::make_unique<bool[]>(jobs);
        gone[row] = true;
        cluster_.end(row, job_state::done);
        cluster_.erase(gone.get());
        arrive();
    }
};

struct figures {
    std::vector<double> in_process, whole, changed;
    std::size_t whole_bytes = 0, changed_bytes = 0, differences = 0;
};

/// One life under the policy; each tick is decided in process and by both children.
[[nodiscard]] figures measure(known_policy const& known, char const* asked_as) {
    ration::testing::synthetic_shape shape{.nodes = {}, .jobs = jobs, .holdings = 8 * jobs};
    shape.nodes.assign(nodes, {64'000, std::int64_t{1} << 38, 8, 8000, std::int64_t{1} << 25, 1 << 16});
    ration::testing::synthetic_cluster cluster(shape);
    steady_life life(cluster);
    diagnostics problems;
    auto const reader = known.make(nullptr, problems);
    program::testing::asked_in_process direct(cluster, known.make(nullptr, problems), {.jobs = jobs, .nodes = nodes});
    program::testing::cluster_requests all(cluster, reader.get()), some(cluster, reader.get());
    bench::decide_child whole(RATION_PROGRAM, asked_as), changed(RATION_PROGRAM, asked_as);
    figures out;
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        life.step(tick);
        auto const line = all.whole(tick) + '\n', rows = (tick == 0 ? some.whole(tick) : some.changed(tick)) + '\n';
        out.in_process.push_back(timed([&] { bench::require(direct.decide(tick, tick), "ask in process"); }));
        std::string_view first, second;
        out.whole.push_back(timed([&] { first = whole.ask(line); }));
        out.changed.push_back(timed([&] { second = changed.ask(rows); }));
        out.whole_bytes += line.size() / ticks;
        out.changed_bytes += rows.size() / ticks;
        for (auto const answer : {first, second})
            out.differences += nlohmann::json::parse(answer).value("grants", nlohmann::json()) != direct.accepted();
        direct.apply();
    }
    return out;
}

}  // namespace

int main() {
    fmt::print("{} jobs, {} nodes, {} decisions; median ms, and what it is more than in process\n", jobs, nodes, ticks);
    fmt::print("{:<22}{:>11}{:>9}{:>8}{:>7}{:>9}{:>8}{:>7}\n", "policy", "in process", "whole", "more", "KiB",
               "changed", "more", "KiB");
    bool all_same = true, all_fast = true;
    for (auto const& known : known_policies())
        for (bool const from_file : {false, true}) {
            bool const is_measured = known.name == "tradl" || known.name == "las" || known.name == "max_min";
            if (!is_measured || (from_file && known.name != "max_min")) continue;
            std::string const asked_as = from_file ? RATION_PLUGIN : std::string(known.name);
            auto const got = measure(known, asked_as.c_str());
            double const base = median(got.in_process), whole = median(got.whole), changed = median(got.changed);
            fmt::print("{:<22}{:>11.3f}{:>9.3f}{:>8.3f}{:>7}{:>9.3f}{:>8.3f}{:>7}\n",
                       from_file ? std::string(known.name) + " in a worker" : asked_as, base, whole, whole - base,
                       got.whole_bytes / 1024, changed, changed - base, got.changed_bytes / 1024);
            all_fast = all_fast && whole - base <= most_extra_ms;
            if (got.differences > 0) fmt::print("{} answers differ from those in process\n", got.differences);
            all_same = all_same && got.differences == 0;
        }
    fmt::print("{} than {} ms more\n", all_fast ? "each costs less" : "one costs more", most_extra_ms);
    return all_same ? 0 : 1;
}
