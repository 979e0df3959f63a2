// SPDX-License-Identifier: BSL-1.0
// The sums of tenants as rows of jobs move, and with resources of which all jobs have one row.
#include <vector>

#include <ration/host/tenants.hpp>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::tenant_description;
using ration::unlimited;

namespace {

using amounts = std::vector<std::int64_t>;

/// A root with two tenants, and a separate tenant.
[[nodiscard]] std::vector<tenant_description> family_of_four() {
    std::vector<tenant_description> all(4);
    for (std::size_t t = 0; t < all.size(); ++t) all[t].id = 1 + t;
    all[1].parent = all[2].parent = 0;
    return all;
}

/// Jobs whose sums are read directly; those of memory have columns for all jobs together.
struct summed_jobs {
    ration::snapshot_store store;
    ration::standard_columns columns;
    ration::detail::tenant_sums sums;

    summed_jobs() {
        for (auto const* const name : {"jobs/held.memory", "jobs/min.memory", "jobs/max.memory"})
            must(store.omit(name, ration::column_type::i64));
        columns = *ration::standard_columns::declare(store, ration::standard_resources);
        must(ration::fill_tenants(store, columns, family_of_four()));
        sums.prepare(store, columns, {.jobs = 8, .tenants = 4}, {}, true);
    }
    /// Gives the jobs these rows. Each has a tenant, and 10 times its number as the bound of its devices.
    void set(std::vector<std::uint64_t> const& ids, std::vector<std::uint32_t> const& tenants) {
        must(store.resize(table_id::jobs, ids.size()));
        for (std::size_t row = 0; row < ids.size(); ++row) {
            store[columns.id][row] = ids[row];
            store[columns.tenant][row] = tenants[row];
            store[of(resource_id::gpu).maximum][row] = 10 * tenants[row];
            store.at(of(resource_id::memory).maximum, row) = unlimited;
        }
        sums.begin(store, columns, {});
    }
    [[nodiscard]] ration::resource_columns const& of(resource_id r) const {
        return columns.resources[static_cast<std::size_t>(r)];
    }
    [[nodiscard]] amounts demand(resource_id r) const {
        auto const all = store[of(r).of_tenants.demand];
        return {all.begin(), all.end()};
    }
};

}  // namespace

TEST_CASE("tenants: a job between two others, and after jobs that have gone, keeps its sums", "[tenants]") {
    summed_jobs all;
    all.set({10, 30}, {1, 2});
    CHECK(all.demand(resource_id::gpu) == amounts{30, 10, 20, 0});
    all.set({10, 20, 30}, {1, 3, 2});
    CHECK(all.demand(resource_id::gpu) == amounts{30, 10, 20, 30});
    all.set({5, 20, 30, 40}, {3, 3, 2, 1});
    CHECK(all.demand(resource_id::gpu) == amounts{30, 10, 20, 60});
    all.set({30}, {2});
    CHECK(all.demand(resource_id::gpu) == amounts{20, 0, 20, 0});
}

TEST_CASE("tenants: a resource with one row for all jobs is summed over the active ones", "[tenants]") {
    summed_jobs all;
    all.set({1, 2, 3}, {1, 1, 2});
    CHECK(all.demand(resource_id::memory) == amounts{unlimited, unlimited, unlimited, 0});
    all.store[all.columns.state][2] = static_cast<std::uint32_t>(job_state::done);
    all.set({1, 2, 3}, {1, 1, 2});
    CHECK(all.demand(resource_id::memory) == amounts{unlimited, unlimited, 0, 0});
    all.set({1, 2, 3}, {3, 3, 2});
    CHECK(all.demand(resource_id::memory) == amounts{0, 0, 0, unlimited});
    all.set({}, {});
    CHECK(all.demand(resource_id::memory) == amounts{0, 0, 0, 0});
}
