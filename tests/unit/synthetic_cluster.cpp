// SPDX-License-Identifier: BSL-1.0
// The synthetic cluster: every standard column has values, the same on every run of one seed, and consistent ones.
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include <ration/testing/synthetic_life.hpp>

#include "support/catch.hpp"

using namespace ration::testing;
using ration::job_state;
using ration::resource_id;
using ration::table_id;

namespace {

constexpr std::size_t most_jobs = 12;

struct lived_in {
    synthetic_cluster cluster;
    synthetic_life life;

    explicit lived_in(life_options const& options = {}, std::size_t nodes = 2)
        : cluster({.nodes = {nodes, per_resource<std::int64_t>{16'000, 1 << 30, most_jobs, 8'000, 1 << 20, 4096}},
                   .jobs = most_jobs,
                   .holdings = 64,
                   .node_types = 2}),
          life(cluster, most_jobs, options) {}

    void step() {
        life.step();
        cluster.forget_events();
        for (std::uint32_t row = 0; row < cluster.jobs().size(); ++row)
            if (cluster.jobs()[row].state == job_state::running)
                cluster.grant({{cluster.jobs()[row].id}, row % 2, resource_id::gpu, 1}, row);
        cluster.show_held();
    }
};

[[nodiscard]] std::size_t bytes_of(ration::column_info const& c, lived_in const& in) {
    return in.cluster.store().rows(c.table) * c.width * ration::size_of(c.type);
}
[[nodiscard]] unsigned char const* values_of(ration::column_info const& c, lived_in const& in) {
    return static_cast<unsigned char const*>(in.cluster.store().view()[c.table].slot[c.slot]);
}

}  // namespace

TEST_CASE("synthetic_cluster: every standard column has values other than 0", "[testing]") {
    lived_in in({.least_minimum = 2});
    std::set<std::string_view> named;
    for (auto const& c : in.cluster.store().schema())
        named.insert(ration::catalogue[ration::index_in_catalogue(c.name.view())].name);
    CHECK(named.size() == ration::catalogue_size);

    std::set<std::string> zero;
    for (auto const& c : in.cluster.store().schema()) zero.insert(std::string(c.name.view()));
    for (int tick = 0; tick < 200; ++tick) {
        in.step();
        for (auto const& c : in.cluster.store().schema())
            for (std::size_t i = 0; i < bytes_of(c, in); ++i)
                if (values_of(c, in)[i] != 0) zero.erase(std::string(c.name.view()));
    }
    // Only devices are granted here.
    for (std::string const held : {"jobs/held.", "tenants/held.", "tenants/usage."})
        for (std::string const resource : {"cpu", "memory", "gpu.sm", "cache", "batch"}) zero.erase(held + resource);
    // A setting has no capacity, no sums, and no minimum here, and no job uses or requests it.
    std::erase_if(zero, [](std::string const& name) {
        return name.ends_with(".save.interval") && name != "jobs/max.save.interval";
    });
    for (char const* const of_batch : {"nodes/free.batch", "tenants/demand.batch"}) zero.erase(of_batch);
    CHECK(zero == std::set<std::string>{});
}

TEST_CASE("synthetic_cluster: one seed gives the same bytes, another seed gives others", "[testing]") {
    lived_in one, same, other({.seed = 2});
    bool differs = false;
    for (int tick = 0; tick < 100; ++tick) {
        one.step();
        same.step();
        other.step();
        for (auto const& c : one.cluster.store().schema()) {
            REQUIRE(bytes_of(c, one) == bytes_of(c, same));
            REQUIRE(
                (bytes_of(c, one) == 0 || std::memcmp(values_of(c, one), values_of(c, same), bytes_of(c, one)) == 0));
        }
        differs |= one.cluster.jobs().size() != other.cluster.jobs().size();
    }
    CHECK(differs);
}

TEST_CASE("synthetic_cluster: bounds, requests and predictions are consistent, and some values are unknown",
          "[testing]") {
    lived_in in({.seed = 3, .first_jobs = 6});
    CHECK(in.cluster.jobs().size() == 6);
    std::size_t unknown = 0, over = 0, tiers = 0;
    for (int tick = 0; tick < 400; ++tick) {
        in.step();
        for (auto const& job : in.cluster.jobs()) {
            for (std::size_t r = 0; r < job.minimum.size(); ++r) {
                CHECK(job.minimum[r] <= job.request[r]);
                CHECK(job.request[r] <= job.maximum[r]);
            }
            CHECK_FALSE(job.done > job.length);
            CHECK_FALSE(job.done + job.remaining > job.length);
            CHECK(job.best_loss <= job.loss);
            unknown += std::isnan(job.remaining);
            over += job.is_over();
            tiers += job.tier;
        }
    }
    CHECK(unknown > 0);
    CHECK(over > 0);
    CHECK(tiers > 0);
}

TEST_CASE("synthetic_cluster: jobs do not depend on the supply of the nodes", "[testing]") {
    lived_in ample({.nodes_have = supply::ample}), scarce({.nodes_have = supply::scarce});
    bool was_scarce = false;
    for (int tick = 0; tick < 100; ++tick) {
        ample.life.step();
        scarce.life.step();
        REQUIRE(ample.cluster.jobs().size() == scarce.cluster.jobs().size());
        for (std::size_t row = 0; row < ample.cluster.jobs().size(); ++row) {
            CHECK(ample.cluster.jobs()[row].id == scarce.cluster.jobs()[row].id);
            CHECK(ample.cluster.jobs()[row].state == scarce.cluster.jobs()[row].state);
            CHECK(ample.cluster.jobs()[row].minimum[0] == 0);
        }
        CHECK(ample.cluster.capacity(0, resource_id::gpu) == static_cast<std::int64_t>(most_jobs));
        was_scarce |= scarce.cluster.capacity(0, resource_id::gpu) < static_cast<std::int64_t>(most_jobs);
    }
    CHECK(was_scarce);
}

TEST_CASE("synthetic_cluster: a job that ends gives back what it holds, and is gone from the tables when erased",
          "[testing]") {
    lived_in in({.first_jobs = 2});
    auto const id = in.cluster.jobs()[1].id;
    in.cluster.grant({{id}, 0, resource_id::gpu, 3}, 1);
    in.cluster.show_granted();
    CHECK(in.cluster.held_by(1, resource_id::gpu) == 3);
    CHECK(in.cluster.store().rows(table_id::held) == 1);
    CHECK(in.cluster.events().back().kind == ration::event_kind::grant_applied);
    in.cluster.end(1, job_state::done);
    in.cluster.show_held();
    CHECK(in.cluster.held_by(1, resource_id::gpu) == 0);
    CHECK(in.cluster.store().rows(table_id::held) == 0);
    CHECK(in.cluster.events().back().kind == ration::event_kind::job_finished);
    bool const gone[] = {false, true};
    in.cluster.erase(gone);
    CHECK(in.cluster.jobs().size() == 1);
    CHECK(in.cluster.store().rows(table_id::jobs) == 1);
}
