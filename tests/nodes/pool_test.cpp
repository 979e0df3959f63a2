// SPDX-License-Identifier: BSL-1.0
// Policies that answer for one pool of devices: what they see, and where their grants are placed.
#include <map>
#include <random>
#include <vector>

#include <ration/host/snapshot_store.hpp>

#include "nodes/pool_policy.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr auto gpu = static_cast<std::uint16_t>(resource_id::gpu),
               batch_size = static_cast<std::uint16_t>(resource_id::batch);

[[nodiscard]] std::vector<node_shares> placed(std::vector<std::int64_t> const& capacity,
                                              std::vector<pooled_job> const& jobs) {
    return place_in_nodes(capacity, jobs);
}

[[nodiscard]] pooled_job job(std::int64_t wanted, node_shares held = {}, std::size_t most = 1, std::int64_t least = 1) {
    return {.wanted = wanted, .least = least, .nodes = {.held = std::move(held), .most = most}};
}

/// Answers with these rows, and records the nodes table.
class pool_reader final : public any_policy {
public:
    std::vector<grant> rows;
    std::vector<std::int64_t> capacities;
    bool names_nodes = false;

    [[nodiscard]] meta const& about() const noexcept override {
        static constexpr meta own{.id = "test.pool", .version = "1.0.0"};
        return own;
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override {
        return names_nodes ? column == "held/node" : column == "nodes/capacity.gpu";
    }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const&) noexcept override {
        slot_ = find_column(schema, "nodes/capacity.gpu")->slot;
        return {};
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        auto const& nodes = t.data[table_id::nodes];
        auto const* const first = static_cast<std::int64_t const*>(nodes.slot[slot_]);
        capacities.assign(first, first + nodes.rows);
        for (auto const& row : rows)
            if (!out.add(row)) return status::capacity;
        return status::ok;
    }

private:
    std::uint32_t slot_ = 0;
};

struct fixture {
    snapshot_store store;
    pool_reader policy;
    std::map<std::uint64_t, job_nodes> nodes;
    pool_policy pooled{policy, [this] { return answers_for_one_pool(policy); },
                       [this](std::uint64_t id) { return nodes[id]; }};
    std::vector<grant> space = std::vector<grant>(32);

    /// Jobs 11 and 12; three nodes of two devices.
    fixture() {
        auto const id = store.declare<std::uint64_t>("jobs/id");
        auto const minimum = store.declare<std::int64_t>("jobs/min.gpu");
        auto const capacity = store.declare<std::int64_t>("nodes/capacity.gpu");
        REQUIRE(store.resize(table_id::jobs, 2));
        REQUIRE(store.resize(table_id::nodes, 3));
        for (std::size_t row = 0; row < 2; ++row) {
            store.at(*id, row) = 11 + row;
            store.at(*minimum, row) = 1;
        }
        for (std::size_t node = 0; node < 3; ++node) store.at(*capacity, node) = 2;
        REQUIRE(pooled.bind(store.schema(), {.jobs = 2, .nodes = 3}));
    }
    [[nodiscard]] std::vector<grant> answer(std::vector<grant> rows) {
        policy.rows = std::move(rows);
        grants out(space);
        REQUIRE(pooled.decide({.data = store.view()}, out) == status::ok);
        return {out.rows().begin(), out.rows().end()};
    }
};

[[nodiscard]] grant row(std::uint32_t job, std::uint32_t node, std::int64_t amount, std::uint16_t resource = gpu) {
    return {.job = job, .node = node, .resource = resource, .reason = 7, .amount = amount};
}

}  // namespace

TEST_CASE("a job is placed on one node where it fits, the fullest one") {
    CHECK(placed({4, 2, 3}, {job(2)}) == std::vector<node_shares>{{{1, 2}}});
    CHECK(placed({4, 2, 3}, {job(1), job(4)}) == std::vector<node_shares>{{{1, 1}}, {{0, 4}}});  // the largest first
    CHECK(placed({2, 2}, {job(3)}) == std::vector<node_shares>{{{0, 2}}});  // as much as one node has
    CHECK(placed({2, 2}, {job(3, {}, 1, 3)}) == std::vector<node_shares>{{}});
}

TEST_CASE("a job that can use several nodes gets the fewest that suffice") {
    CHECK(placed({1, 3, 2}, {job(4, {}, 3)}) == std::vector<node_shares>{{{1, 3}, {2, 1}}});
    CHECK(placed({1, 3, 2}, {job(6, {}, 3)}) == std::vector<node_shares>{{{0, 1}, {1, 3}, {2, 2}}});
    CHECK(placed({1, 3, 2}, {job(6, {}, 2)}) == std::vector<node_shares>{{{1, 3}, {2, 2}}});
}

TEST_CASE("a job whose number does not change stays where it is, and so does a larger one beside it") {
    std::vector<pooled_job> const jobs{job(1, {{0, 1}}), job(1, {{1, 1}}), job(2)};
    CHECK(placed({2, 2}, jobs) == std::vector<node_shares>{{{0, 1}}, {{1, 1}}, {{0, 1}}});
    CHECK(placed({2, 2}, {job(2, {{0, 1}, {1, 1}}, 2)}) == std::vector<node_shares>{{{0, 1}, {1, 1}}});
}

TEST_CASE("a job that grows stays on its node if that has enough, and moves only if it must") {
    CHECK(placed({4, 2}, {job(2, {{0, 1}})}) == std::vector<node_shares>{{{0, 2}}});
    CHECK(placed({2, 4}, {job(3, {{0, 1}}), job(1, {{0, 1}})}) == std::vector<node_shares>{{{1, 3}}, {{0, 1}}});
    CHECK(placed({2, 2}, {job(4, {{1, 2}}, 2)}) == std::vector<node_shares>{{{0, 2}, {1, 2}}});
    // Nothing better: it keeps what it has, and no other job takes that
    CHECK(placed({2, 2}, {job(2, {{0, 1}}), job(1, {{0, 1}}), job(2, {{1, 2}})}) ==
          std::vector<node_shares>{{{0, 1}}, {{0, 1}}, {{1, 2}}});
}

TEST_CASE("a job that shrinks leaves the nodes where it has least, and keeps rank 0") {
    CHECK(placed({4, 4}, {job(3, {{0, 1}, {1, 3}}, 2)}) == std::vector<node_shares>{{{1, 3}}});
    CHECK(placed({2, 2}, {job(2, {{0, 2}, {1, 2}}, 2)}) == std::vector<node_shares>{{{0, 2}}});
    CHECK(placed({2, 2}, {job(0, {{0, 2}, {1, 2}}, 2)}) == std::vector<node_shares>{{}});
}

TEST_CASE("a job whose node has lost a device is placed again") {
    CHECK(placed({1, 2}, {job(2, {{0, 2}})}) == std::vector<node_shares>{{{1, 2}}});
    CHECK(placed({1, 0}, {job(2, {{0, 2}})}) == std::vector<node_shares>{{{0, 1}}});
}

TEST_CASE("no placement uses a device twice or too many nodes, or gives a job less than its minimum") {
    std::mt19937_64 random(7);
    auto const up_to = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
    };
    std::vector<std::int64_t> const capacity{4, 2, 3};
    std::vector<pooled_job> jobs(4);
    for (auto& j : jobs) j.nodes.most = 1 + random() % 3;
    for (int round = 0; round < 3000; ++round) {
        for (auto& j : jobs) {
            j.wanted = up_to(5);
            j.least = std::max<std::int64_t>(1, j.wanted - up_to(2));
        }
        auto const shares = placed(capacity, jobs);
        std::vector<std::int64_t> used(capacity.size());
        for (std::size_t at = 0; at < jobs.size(); ++at) {
            auto const sum = devices_in(shares[at]);
            REQUIRE(shares[at].size() <= jobs[at].nodes.most);
            REQUIRE(sum <= std::max(jobs[at].wanted, devices_in(jobs[at].nodes.held)));
            bool const stays = shares[at] == jobs[at].nodes.held;
            REQUIRE((sum == 0 || sum >= jobs[at].least || stays));
            for (auto const& share : shares[at]) used[share.node] += share.devices;
            jobs[at].nodes.held = shares[at];
        }
        for (std::size_t node = 0; node < capacity.size(); ++node) REQUIRE(used[node] <= capacity[node]);
    }
}

TEST_CASE("a policy for one pool sees one node with all devices, and its answer is divided") {
    fixture f;
    f.nodes[12].held = {{1, 2}};
    CHECK(f.answer({row(0, 0, 2), row(1, 0, 0), row(1, 0, 64, batch_size)}) ==
          std::vector<grant>{row(0, 0, 2), row(1, 1, 0), row(1, 0, 64, batch_size)});
    CHECK(f.policy.capacities == std::vector<std::int64_t>{6});
    f.nodes[11].most = 2;
    CHECK(f.answer({row(0, 0, 4)}) == std::vector<grant>{row(0, 0, 2), row(0, 2, 2)});
    CHECK(f.answer({row(0, 0, 0)}) == std::vector<grant>{row(0, 0, 0)});
}

TEST_CASE("a policy that reads where jobs are names the nodes itself") {
    fixture f;
    f.policy.names_nodes = true;
    CHECK(f.answer({row(0, 2, 2)}) == std::vector<grant>{row(0, 2, 2)});
    CHECK(f.policy.capacities == std::vector<std::int64_t>{2, 2, 2});
}
