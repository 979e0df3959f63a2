// SPDX-License-Identifier: BSL-1.0
// A policy that places a job on more nodes than it can use: some parts remain.
#include <map>
#include <vector>

#include <ration/host/snapshot_store.hpp>

#include "nodes/node_limit_policy.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr auto gpu = static_cast<std::uint16_t>(resource_id::gpu),
               batch_size = static_cast<std::uint16_t>(resource_id::batch);

/// Answers with these rows.
class fixed_policy final : public any_policy {
public:
    std::vector<grant> rows;

    [[nodiscard]] meta const& about() const noexcept override {
        static constexpr meta own{.id = "test.fixed", .version = "1.0.0"};
        return own;
    }
    [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
    [[nodiscard]] status decide(tick_data const&, grants& out) noexcept override {
        for (auto const& row : rows)
            if (!out.add(row)) return status::capacity;
        return status::ok;
    }
};

struct fixture {
    snapshot_store store;
    fixed_policy policy;
    std::map<std::uint64_t, job_nodes> nodes;
    node_limit_policy placed{policy, [this](std::uint64_t id) { return nodes[id]; }};
    std::vector<grant> space = std::vector<grant>(32);

    /// Jobs 11 and 12 accept at least `least` devices.
    explicit fixture(std::int64_t least = 1) {
        auto const id = store.declare<std::uint64_t>("jobs/id");
        auto const minimum = store.declare<std::int64_t>("jobs/min.gpu");
        REQUIRE(store.resize(table_id::jobs, 2));
        for (std::size_t row = 0; row < 2; ++row) {
            store.at(*id, row) = 11 + row;
            store.at(*minimum, row) = least;
        }
        REQUIRE(placed.bind(store.schema(), {.jobs = 2, .nodes = 3}));
    }
    [[nodiscard]] std::vector<grant> answer(std::vector<grant> rows) {
        policy.rows = std::move(rows);
        grants out(space);
        REQUIRE(placed.decide({.data = store.view()}, out) == status::ok);
        return {out.rows().begin(), out.rows().end()};
    }
};

[[nodiscard]] grant row(std::uint32_t job, std::uint32_t node, std::int64_t amount, std::uint16_t resource = gpu) {
    return {.job = job, .node = node, .resource = resource, .amount = amount};
}

}  // namespace

TEST_CASE("an answer with one node for each job passes as it is") {
    fixture f;
    f.nodes[11].held = {{0, 2}};
    std::vector<grant> const moves{row(0, 0, 0), row(0, 1, 2), row(1, 0, 2), row(1, 0, 64, batch_size)};
    CHECK(f.answer(moves) == moves);
}

TEST_CASE("of several nodes the largest part remains, or that on the node of the job") {
    fixture f;
    CHECK(f.answer({row(0, 0, 1), row(0, 2, 3), row(1, 1, 2)}) == std::vector<grant>{row(0, 2, 3), row(1, 1, 2)});
    f.nodes[11].held = {{0, 1}};
    CHECK(f.answer({row(0, 0, 1), row(0, 2, 3)}) == std::vector<grant>{row(0, 0, 1)});
    CHECK(f.answer({row(0, 2, 3)}).empty());  // what it holds stays, without a row
    CHECK(f.answer({row(0, 0, 0), row(0, 1, 1), row(0, 2, 3)}) == std::vector<grant>{row(0, 0, 0), row(0, 2, 3)});
}

TEST_CASE("a part below the minimum is left out, and so is the release for it") {
    fixture f(3);
    CHECK(f.answer({row(0, 0, 2), row(0, 1, 2), row(1, 2, 4)}) == std::vector<grant>{row(1, 2, 4)});
    f.nodes[11].held = {{2, 3}};
    CHECK(f.answer({row(0, 2, 0), row(0, 0, 2), row(0, 1, 2)}).empty());
}

TEST_CASE("a job that can use two nodes keeps two parts: where it is, then the largest") {
    fixture f(3);
    f.nodes[11].most = 2;
    std::vector<grant> const two{row(0, 0, 1), row(0, 1, 2)};
    CHECK(f.answer(two) == two);
    CHECK(f.answer({row(0, 0, 1), row(0, 1, 2), row(0, 2, 2)}) == std::vector<grant>{row(0, 1, 2), row(0, 2, 2)});
    f.nodes[11].held = {{0, 1}};
    CHECK(f.answer({row(0, 1, 2), row(0, 2, 3)}) == std::vector<grant>{row(0, 2, 3)});
    f.nodes[11].held = {{0, 1}, {1, 1}};
    CHECK(f.answer({row(0, 2, 4)}).empty());  // two devices on its nodes are too few
    CHECK(f.answer({row(0, 0, 0), row(0, 2, 4)}) == std::vector<grant>{row(0, 0, 0), row(0, 2, 4)});
}
