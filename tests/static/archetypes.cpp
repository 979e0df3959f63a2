// SPDX-License-Identifier: BSL-1.0
// The core uses of each concept what the concept asks, and no more: it compiles with the archetypes.
#include <ration/host/any_estimator.hpp>
#include <ration/ration.hpp>
#include <ration/testing/archetypes.hpp>

#include "support/catch.hpp"

using namespace ration::testing;

template class ration::engine<backend_archetype>;
template class ration::policy_adapter<policy_archetype>;
template class ration::estimator_adapter<estimator_archetype>;
template struct ration::pairing<policy_archetype, job_archetype>;
template ration::resource_info ration::info_of<resource_archetype>() noexcept;

// Nothing else can be done with them.
static_assert(!std::is_copy_constructible_v<job_archetype> && !std::is_move_constructible_v<job_archetype> &&
              !std::is_copy_assignable_v<job_archetype>);
static_assert(!std::is_default_constructible_v<job_archetype> && !std::is_default_constructible_v<resource_archetype>);
static_assert(!std::is_copy_constructible_v<target_archetype> && !std::is_copy_constructible_v<policy_archetype>);
static_assert(!std::is_copy_constructible_v<estimator_archetype>);
static_assert(!std::is_copy_constructible_v<backend_archetype> &&
              !std::is_copy_constructible_v<backend_archetype::operation>);
static_assert(!std::is_default_constructible_v<backend_archetype::operation> &&
              std::is_move_constructible_v<backend_archetype::operation>);
template <class T>
concept has_address = requires(T& t) {
    { &t } -> std::same_as<T*>;
};
static_assert(!has_address<job_archetype> && !has_address<target_archetype> && !has_address<policy_archetype> &&
              !has_address<estimator_archetype> && !has_address<backend_archetype>);

TEST_CASE("a scheduler's archetypes go through the one call") {
    policy_archetype policy;
    job_archetype const jobs[] = {job_archetype(3), job_archetype(1)};
    ration::capacities const nodes[] = {{.cpu = 1}};
    auto const answer = ration::allocate(policy, jobs, nodes);
    REQUIRE(answer);
    CHECK(answer->granted.empty());
}
