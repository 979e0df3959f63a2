// SPDX-License-Identifier: BSL-1.0
// Which policies can be paired with which jobs.
#include <vector>

#include <ration/column_adapter.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/testing/archetypes.hpp>

namespace supply_near_misses {

using ration::can_pair;
using ration::columns;
using ration::from;
using ration::from_rows;
using ration::in;
using ration::in_rows;

struct plain {
    using job_concept = ration::job_tag;
    ration::job_id id() const noexcept;
    ration::bounds bounds_of(ration::resource_id) const noexcept;
    ration::job_progress progress() const noexcept;
    ration::two_tier_target target() const noexcept;

    double cores = 0;
    float share = 0;
    double used() const noexcept { return cores * 1000; }
};

template <class... Columns>
struct reads {
    using policy_concept = ration::policy_tag;
    using inputs = columns<Columns...>;
    static constexpr ration::meta about{.id = "org.example.reads", .version = "1.0.0"};
    ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept;
};

// Every Job implies these.
static_assert(can_pair<reads<>, plain>);
static_assert(
    can_pair<reads<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint64_t, "jobs/step">>,
             plain>);
static_assert(
    can_pair<reads<in<double, "jobs/loss">, in<std::uint32_t, "jobs/tier">, in<std::uint32_t, "jobs/tiers">>, plain>);
static_assert(can_pair<reads<in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.gpu.sm">>, plain>);
static_assert(can_pair<reads<in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/capacity.cpu">,
                             in<std::int64_t, "nodes/free.cpu">>,
                       plain>);
static_assert(
    can_pair<reads<in<std::uint32_t, "nodes/type">, in<std::uint64_t, "held/job">, in<std::int64_t, "held/amount">>,
             plain>);
static_assert(can_pair<reads<in<std::uint32_t, "held/node">, in<std::uint32_t, "held/resource">>, plain>);
static_assert(can_pair<ration::policies::equal_share, plain> && can_pair<ration::policies::none, plain>);
static_assert(can_pair<ration::testing::policy_archetype, ration::testing::job_archetype>);

// None of these is implied.
static_assert(!can_pair<reads<in<double, "jobs/used.cpu">>, plain>);
static_assert(!can_pair<reads<in<double, "jobs/weight">>, plain>);
static_assert(!can_pair<reads<in<double, "jobs/remaining">>, plain>);
static_assert(!can_pair<reads<in_rows<double, "jobs/speedup">>, plain>);
static_assert(!can_pair<reads<in<double, "jobs/mine">>, plain>);
static_assert(!can_pair<reads<in<std::int64_t, "jobs/max.tokens">>, plain>);
static_assert(!can_pair<reads<in<std::int64_t, "nodes/rack">>, plain>);
static_assert(!can_pair<reads<in<std::uint64_t, "held/jobs">>, plain>);
static_assert(!can_pair<reads<in<std::uint32_t, "nodes/types">>, plain>);
static_assert(!can_pair<ration::policies::tradl, plain>);

// One missing column is enough, at any position.
static_assert(!can_pair<reads<in<std::uint64_t, "jobs/id">, in<double, "jobs/mine">>, plain>);
static_assert(!can_pair<reads<in<double, "jobs/mine">, in<std::uint64_t, "jobs/id">>, plain>);

// A job may say that it supplies more.
struct generous : plain {
    using supplies = columns<from<double, "jobs/used.cpu", &plain::used>, from<float, "jobs/mine", &plain::share>>;
};
static_assert(can_pair<ration::policies::tradl, generous>);
static_assert(can_pair<reads<in<float, "jobs/mine">>, generous>);
static_assert(!can_pair<reads<in<double, "jobs/mine">>, generous>);      // another type
static_assert(!can_pair<reads<in_rows<float, "jobs/mine">>, generous>);  // another shape
static_assert(!can_pair<reads<in<float, "jobs/mine.too">>, generous>);
static_assert(!can_pair<reads<in<double, "jobs/used.memory">>, generous>);

// Vectors too.
struct elastic : plain {
    std::vector<double> faster;
    using supplies = columns<from_rows<double, "jobs/speedup", &elastic::faster>>;
};
static_assert(can_pair<reads<in_rows<double, "jobs/speedup">>, elastic>);
static_assert(!can_pair<reads<in_rows<double, "jobs/goodput">>, elastic>);

// A policy that is none, a job that is none.
static_assert(!can_pair<int, plain> && !can_pair<reads<>, int>);

}  // namespace supply_near_misses
