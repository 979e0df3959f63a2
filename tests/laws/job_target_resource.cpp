// SPDX-License-Identifier: BSL-1.0
// The laws of Resource, Target and Job: kept by the lawful, and each broken by a type made for it.
#include <limits>

#include <ration/testing/archetypes.hpp>
#include <ration/testing/laws.hpp>

#include "broken.hpp"
#include "support/catch.hpp"

using laws::broken;
using ration::resource_info;
using ration::testing::job_laws;
using ration::testing::job_laws_over_time;
using ration::testing::resource_laws;
using ration::testing::target_laws;
using u32 = std::uint32_t;

TEST_CASE("the standard resources keep the laws", "[laws][resource]") {
    CHECK(broken(resource_laws(ration::standard_resources)) == "");
    resource_info const archetype[] = {ration::info_of<ration::testing::resource_archetype>()};
    CHECK(broken(resource_laws(archetype)) == "");
    CHECK(broken(resource_laws({})) == "");
}

TEST_CASE("a resource without a lawful name is caught", "[laws][resource]") {
    for (std::string_view const name : {"", "Cpu", "1cpu", ".cpu", "cpu_share", "cpu share", "cp\xc3\xbc", "cPu"}) {
        resource_info const odd[] = {{"cpu", "millicores"}, {name, "units"}};
        INFO(name);
        CHECK(broken(resource_laws(odd)) == "Resource law 1");
        CHECK(resource_laws(odd).failure().subject == name);
    }
    resource_info const fine[] = {{"a", "units"}, {"gpu0.sm", "units"}};
    CHECK(broken(resource_laws(fine)) == "");
}

TEST_CASE("two resources of one name are caught", "[laws][resource]") {
    resource_info const twice[] = {{"cpu", "millicores"}, {"memory", "bytes"}, {"cpu", "shares"}};
    CHECK(broken(resource_laws(twice)) == "Resource law 1");
}

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double values[] = {0, 3, 1, 2.5, -1, 2, -infinite, infinite, 1.5};

/// A target whose `reached` is the function that it is given.
template <class Reached>
struct target_of {
    using target_concept = ration::target_tag;
    Reached function;
    u32 most = 2;
    [[nodiscard]] std::string_view metric() const noexcept { return "loss"; }
    [[nodiscard]] u32 tiers() const noexcept { return most; }
    [[nodiscard]] u32 reached(double v) const noexcept { return function(v); }
};
template <class Reached>
[[nodiscard]] std::string verdict(Reached reached) {
    return broken(target_laws(target_of<Reached>{reached}, values));
}

}  // namespace

TEST_CASE("the targets of this library keep the laws", "[laws][target]") {
    using ration::two_tier_target;
    CHECK(broken(target_laws(two_tier_target::make({.acceptable = 2, .objective = 1}).value(), values)) == "");
    CHECK(broken(target_laws(two_tier_target::make({.acceptable = 2}).value(), values)) == "");
    CHECK(broken(target_laws(two_tier_target::make({.objective = 1}).value(), values)) == "");
    CHECK(broken(target_laws(
              two_tier_target::make({.improves = ration::direction::up, .acceptable = 1, .objective = 2}).value(),
              values)) == "");
    CHECK(broken(target_laws(ration::testing::target_archetype(), values)) == "");
}

TEST_CASE("a target may go up or down", "[laws][target]") {
    CHECK(verdict([](double v) -> u32 { return v <= 1 ? 2 : v <= 2 ? 1 : 0; }) == "");
    CHECK(verdict([](double v) -> u32 { return v >= 2 ? 2 : v >= 1 ? 1 : 0; }) == "");
    CHECK(verdict([](double) -> u32 { return 0; }) == "");
}

TEST_CASE("a target of more tiers than it has is caught", "[laws][target]") {
    CHECK(verdict([](double v) -> u32 { return v <= 1 ? 3 : 0; }) == "Target law 1");
}

TEST_CASE("a target that a better value reaches less is caught", "[laws][target]") {
    CHECK(verdict([](double v) -> u32 { return v > 1 && v < 3 ? 1 : 0; }) == "Target law 2");
    CHECK(verdict([](double v) -> u32 { return v <= 1 ? 1 : v <= 2 ? 2 : 0; }) == "Target law 2");
}

TEST_CASE("a target that NaN reaches is caught", "[laws][target]") {
    CHECK(verdict([](double v) -> u32 { return v > 1 ? 0 : 1; }) == "Target law 3");
}

namespace {

struct plain_job {
    using job_concept = ration::job_tag;
    std::uint64_t number = 1, at = 0;
    ration::bounds accepts{};
    int* asked = nullptr;  // counts id(), for a job that changes it
    [[nodiscard]] ration::job_id id() const noexcept {
        return {asked == nullptr ? number : number + static_cast<std::uint64_t>((*asked)++)};
    }
    [[nodiscard]] ration::bounds bounds_of(ration::resource_id r) const noexcept {
        return r == ration::resource_id::gpu ? accepts : ration::bounds{};
    }
    [[nodiscard]] ration::job_progress progress() const noexcept { return {.step = at, .value = 0}; }
    [[nodiscard]] ration::testing::target_archetype const& target() const noexcept {
        static ration::testing::target_archetype const t;
        return t;
    }
};

[[nodiscard]] std::string verdict_on(std::vector<plain_job> const& jobs) {
    return broken(job_laws(std::span<plain_job const>(jobs)));
}

}  // namespace

TEST_CASE("lawful jobs pass", "[laws][job]") {
    CHECK(verdict_on({}) == "");
    CHECK(verdict_on({{.number = 1}, {.number = 2, .accepts = {1, 1}}, {.number = 3, .accepts = {0, 0}}}) == "");
    ration::testing::job_archetype const archetypes[] = {ration::testing::job_archetype(1),
                                                         ration::testing::job_archetype(2)};
    CHECK(broken(job_laws(std::span<ration::testing::job_archetype const>(archetypes))) == "");
}

TEST_CASE("two jobs of one id are caught", "[laws][job]") {
    CHECK(verdict_on({{.number = 1}, {.number = 2}, {.number = 1}}) == "Job law 1");
}

TEST_CASE("a job whose id changes is caught", "[laws][job]") {
    int asked = 0;
    CHECK(verdict_on({{.number = 1, .asked = &asked}}) == "Job law 1");
    plain_job j;
    CHECK(broken(job_laws_over_time(j, [](plain_job& p) { p.number += 1; })) == "Job law 1");
}

TEST_CASE("a job of impossible bounds is caught", "[laws][job]") {
    CHECK(verdict_on({{.accepts = {-1, 5}}}) == "Job law 2");
    CHECK(verdict_on({{.accepts = {2, 1}}}) == "Job law 2");
    CHECK(verdict_on({{.accepts = {-5, -1}}}) == "Job law 2");
}

TEST_CASE("a job that goes back is caught", "[laws][job]") {
    plain_job steady;
    CHECK(broken(job_laws_over_time(steady, [](plain_job& p) { p.at += p.at % 3; })) == "");
    plain_job resting{.at = 5};
    CHECK(broken(job_laws_over_time(resting, [](plain_job&) {})) == "");
    plain_job falling;
    CHECK(broken(job_laws_over_time(falling, [](plain_job& p) { p.at = p.at == 50 ? 49 : p.at + 1; })) == "Job law 3");
    plain_job late;  // after the last look it may do what it likes
    CHECK(broken(job_laws_over_time(late, [](plain_job& p) { p.at = p.at == 50 ? 0 : p.at + 1; }, 50)) == "");
}
