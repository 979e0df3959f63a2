// SPDX-License-Identifier: BSL-1.0
// elastic_batch_dp on several nodes: the division is the best of all, and every job fits onto the nodes.
#include <algorithm>
#include <random>
#include <vector>

#include <ration/testing/policy_laws.hpp>

#include "elastic_host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::elastic_batch_dp;

namespace {

using curve = std::vector<double>;

/// The largest sum of F with a device at least for each job, by trying every division.
[[nodiscard]] double best_sum(std::vector<curve> const& jobs, std::int64_t devices, std::size_t from = 0) {
    if (from == jobs.size()) return 0;
    double best = -1e9;
    for (std::size_t k = 1; k < jobs[from].size() && static_cast<std::int64_t>(k) <= devices; ++k)
        if (jobs[from][k] > 0)
            best = std::max(best, jobs[from][k] + best_sum(jobs, devices - static_cast<std::int64_t>(k), from + 1));
    return best;
}

/// The policy on nodes with these numbers of devices.
struct on_nodes : elastic_asked {
    on_nodes(std::vector<std::int64_t> const& nodes, std::vector<curve> const& jobs)
        : elastic_asked(jobs.size(), nodes[0], {.interval = 0, .restart_penalty = 0, .horizon = 0}, 9, nodes.size()) {
        for (std::size_t node = 0; node < nodes.size(); ++node) on.set_capacity(resource_id::gpu, nodes[node], node);
    }
};
/// The jobs scale like these from now on.
void scale(elastic_asked& a, std::vector<curve> const& jobs) {
    for (std::size_t row = 0; row < jobs.size(); ++row)
        for (std::size_t k = 0; k < a.speedup.width; ++k)
            a.on.store[a.speedup][row * a.speedup.width + k] = k < jobs[row].size() ? jobs[row][k] : 0;
}

[[nodiscard]] std::size_t nodes_of(elastic_asked const& a, std::size_t row) {
    std::size_t count = 0;
    for (auto const& h : a.on.held.of(a.on.id(row))) count += h.what.resource == resource_id::gpu;
    return count;
}
[[nodiscard]] double sum_of(counts const& given, std::vector<curve> const& jobs) {
    double sum = 0;
    for (std::size_t row = 0; row < jobs.size(); ++row) sum += jobs[row][static_cast<std::size_t>(given[row])];
    return sum;
}

/// Speed-ups that mostly rise, now and then fall, and are missing for some counts.
[[nodiscard]] curve any_curve(std::mt19937& random, std::int64_t devices) {
    curve f(static_cast<std::size_t>(std::min<std::int64_t>(devices, 8)) + 1, 0.0);
    for (std::size_t k = 1; k < f.size(); ++k)
        f[k] = k > 1 && random() % 8 == 0 ? 0 : f[k - 1] + static_cast<double>(random() % 1000) / 1000 - 0.1 + (k == 1);
    return f;
}

}  // namespace

TEST_CASE("elastic_batch_dp on nodes: the largest sum of speed-ups, as by trying every division", "[elastic][nodes]") {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::int64_t> nodes(2 + random() % 2);
        std::int64_t devices = 0;
        for (auto& n : nodes) devices += n = static_cast<std::int64_t>(1 + random() % 4);
        std::vector<curve> jobs(1 + random() % std::min<std::size_t>(static_cast<std::size_t>(devices), 4));
        on_nodes a(nodes, jobs);
        for (int second = 0; second < 4; ++second) {  // from the second one on, jobs hold devices already
            for (auto& f : jobs) f = any_curve(random, devices);
            scale(a, jobs);
            auto const given = a.decide(second);
            INFO("round " << round << ", second " << second);
            REQUIRE(a.reply == ration::status::ok);
            REQUIRE(a.rejected.empty());  // so no node has more than its devices
            REQUIRE(given.size() == jobs.size());
            REQUIRE(std::abs(sum_of(given, jobs) - best_sum(jobs, devices)) < 1e-9);
        }
    }
}

TEST_CASE("elastic_batch_dp on nodes: jobs come onto as few nodes as possible, the largest first", "[elastic][nodes]") {
    std::vector<curve> const jobs{{0, 1, 1.1}, {0, 1, 2, 3, 4}, {0, 1, 2, 2.1}};
    on_nodes a({4, 3}, jobs);
    scale(a, jobs);
    CHECK(a.decide() == counts{1, 4, 2});
    for (std::size_t row = 0; row < 3; ++row) CHECK(nodes_of(a, row) == 1);
    CHECK(a.reason(1) == elastic_batch_dp::best_total);
}

TEST_CASE("elastic_batch_dp on nodes: a job can be larger than a node, and who does not change stays",
          "[elastic][nodes]") {
    std::vector<curve> jobs{{0, 1, 2, 3, 4, 5, 6}};
    on_nodes a({4, 4}, {jobs[0], jobs[0]});
    scale(a, {jobs[0], {0, 1, 1.1}});
    CHECK(a.decide(0) == counts{6, 2});
    CHECK((nodes_of(a, 0) == 2 && nodes_of(a, 1) == 1));
    CHECK(a.decide(1) == counts{6, 2});
    CHECK(a.rows.empty());
}

TEST_CASE("elastic_batch_dp on nodes: what a node has lost is made good elsewhere", "[elastic][nodes]") {
    std::vector<curve> const jobs{{0, 1, 1.9, 2.7}, {0, 1, 1.9, 2.7}};
    on_nodes a({3, 3}, jobs);
    scale(a, jobs);
    CHECK(a.decide(0) == counts{3, 3});
    a.on.set_capacity(resource_id::gpu, 0, 1);
    auto const given = a.decide(1);
    CHECK(a.rejected.empty());
    CHECK(given[0] + given[1] == 3);
    CHECK(a.on.held.sum(1, resource_id::gpu) == 0);
}

TEST_CASE("elastic_batch_dp on nodes: keeps the laws", "[elastic][nodes][laws]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (double const interval : {0.0, 7.0}) {
            auto const kept =
                ration::testing::policy_laws([&] { return elastic_batch_dp({.interval = interval}); },
                                             {.seed = seed, .ticks = 300, .most = {.jobs = 8, .nodes = 3}});
            if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
        }
}
