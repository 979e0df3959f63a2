// SPDX-License-Identifier: BSL-1.0
// The laws of Policy: kept by the policies of this library, and each broken by one made for it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/testing/archetypes.hpp>
#include <ration/testing/laws.hpp>

#include "broken.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using laws::broken;
using ration::columns;
using ration::grants;
using ration::in;
using ration::resource_id;
using ration::status;
using ration::tick;
using ration::testing::policy_law_options;
using ration::testing::policy_laws;

namespace {

constexpr policy_law_options watched{.allocations = allocations};

template <class Policy>
[[nodiscard]] std::string verdict(policy_law_options const& options = watched) {
    return broken(policy_laws([] { return Policy{}; }, options));
}

/// What all lawless policies have in common.
template <class... Columns>
struct lawless {
    using policy_concept = ration::policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, Columns...>;
    static constexpr ration::meta about{.id = "org.example.lawless", .version = "1.0.0"};

    /// The first job that runs is granted the amount.
    [[nodiscard]] static status give(tick<inputs> const& t, grants& out, std::int64_t amount) noexcept {
        auto const state = t.template get<"jobs/state">();
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (state[row] == 1) return out.set(row, 0, resource_id::cache, amount) ? status::ok : status::capacity;
        return status::ok;
    }
};

struct counts_all_instances : lawless<> {
    status decide(tick<inputs> const& t, grants& out) noexcept {
        static std::int64_t calls = 0;
        return give(t, out, ++calls);
    }
};
struct knows_its_address : lawless<> {
    status decide(tick<inputs> const& t, grants& out) noexcept {
        return give(t, out, reinterpret_cast<std::intptr_t>(this) % 4096);
    }
};
struct fails_now_and_then : lawless<> {
    status decide(tick<inputs> const&, grants&) noexcept {
        static int calls = 0;
        return ++calls % 6 == 0 ? status::internal : status::ok;
    }
};
struct gives_too_much : lawless<> {
    status decide(tick<inputs> const& t, grants& out) noexcept { return give(t, out, std::int64_t{1} << 40); }
};
struct gives_to_strangers : lawless<> {
    status decide(tick<inputs> const& t, grants& out) noexcept {
        return out.set(t.jobs(), 0, resource_id::cpu, 1) ? status::ok : status::capacity;
    }
};
struct ignores_bounds : lawless<in<std::int64_t, "jobs/min.cpu">> {
    status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (t.get<"jobs/state">()[row] == 1 && !out.set(row, 0, resource_id::cpu, 1)) return status::capacity;
        return status::ok;
    }
};
/// When a policy reads what can change under running jobs.
enum class reads : std::uint8_t { at_first, always };

/// The first job that runs gets as much of the node as it accepts, the others get nothing.
template <reads When>
struct gives_the_node : lawless<in<std::int64_t, "nodes/capacity.cache">, in<std::int64_t, "jobs/min.cache">,
                                in<std::int64_t, "jobs/max.cache">> {
    std::int64_t capacity = -1;
    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (When == reads::always || capacity < 0) capacity = t.get<"nodes/capacity.cache">()[0];
        std::int64_t left = capacity;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (t.get<"jobs/state">()[row] != 1) continue;
            std::int64_t const amount = std::min(left, t.get<"jobs/max.cache">()[row]);
            std::int64_t const given = amount >= t.get<"jobs/min.cache">()[row] ? amount : 0;
            if (!out.set(row, 0, resource_id::cache, given)) return status::capacity;
            left = given > 0 ? 0 : left;
        }
        return status::ok;
    }
};
/// Each job that runs gets the least that it accepts.
template <reads When>
struct gives_the_least : lawless<in<std::uint64_t, "jobs/id">, in<std::int64_t, "jobs/min.cache">> {
    std::array<std::int64_t, 4096> least{};  // by id; 0 = not read yet
    status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t& its = least[t.get<"jobs/id">()[row] % least.size()];
            if (When == reads::always || its == 0) its = std::max<std::int64_t>(t.get<"jobs/min.cache">()[row], 1);
            if (t.get<"jobs/state">()[row] == 1 && !out.set(row, 0, resource_id::cache, its)) return status::capacity;
        }
        return status::ok;
    }
};
struct gives_up : lawless<> {
    status decide(tick<inputs> const& t, grants&) noexcept {
        return t.number() == 30 ? status::unsupported : status::ok;
    }
};
struct never_ends : lawless<> {
    status decide(tick<inputs> const&, grants& out) noexcept {
        while (out.set(0, 0, resource_id::cpu, 0)) {
        }
        return status::ok;
    }
};
struct allocates : lawless<> {
    std::vector<int> list;
    status decide(tick<inputs> const& t, grants&) noexcept {
        if (t.number() == 100) list.assign(1000, 0);
        return status::ok;
    }
};
struct allocates_at_once : lawless<> {
    std::vector<int> list;
    status prepare(ration::limits const&) noexcept {
        list.reserve(1000);
        return status::ok;
    }
    status decide(tick<inputs> const& t, grants&) noexcept {
        if (t.number() == 100) list.assign(1000, 0);
        return status::ok;
    }
};
struct cannot_prepare : lawless<> {
    status prepare(ration::limits const&) noexcept { return status::no_memory; }
    status decide(tick<inputs> const&, grants&) noexcept { return status::ok; }
};

/// 1/n of the node for each of n jobs; the smallest share is what `Round` makes of it.
template <std::int64_t (*Round)(std::int64_t share)>
struct divides : lawless<in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "nodes/capacity.cpu">> {
    status decide(tick<inputs> const& t, grants& out) noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t const share = t.get<"nodes/capacity.cpu">()[0] / static_cast<std::int64_t>(t.jobs());
            std::int64_t const amount = ration::within(Round(share), {0, t.get<"jobs/max.cpu">()[row]});
            if (t.get<"jobs/state">()[row] == 1 && !out.set(row, 0, resource_id::cpu, amount)) return status::capacity;
        }
        return status::ok;
    }
};

std::int64_t to_nothing(std::int64_t share) { return share < ration::least_cpu.count ? 0 : share; }
std::int64_t to_millicores(std::int64_t share) { return share > 0 ? share : 1; }
std::int64_t to_least(std::int64_t share) { return share < ration::least_cpu.count ? ration::least_cpu.count : share; }

/// The second answer to a tick is another.
struct knows_when_it_is_asked_again : lawless<> {
    std::uint64_t last = ~std::uint64_t{0};
    status decide(tick<inputs> const& t, grants& out) noexcept {
        return give(t, out, 1 + (std::exchange(last, t.number()) == t.number()));
    }
};
/// The second answer to a tick is the first one, but the next tick is another.
struct remembers_the_second_call : lawless<> {
    std::uint64_t last = ~std::uint64_t{0};
    std::int64_t repeated = 0;
    status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const reply = give(t, out, 1 + repeated);
        repeated = std::exchange(last, t.number()) == t.number();
        return reply;
    }
};

/// Counts ticks; its kind decides what it saves, and what a load keeps.
enum class kept { all, nothing, refused, without_room };
template <kept Kind>
struct counts_ticks : lawless<> {
    std::uint64_t ticks = 0, last = ~std::uint64_t{0};
    std::vector<int> room;

    status prepare(ration::limits const&) noexcept {
        room.reserve(1000);
        return status::ok;
    }
    status decide(tick<inputs> const& t, grants& out) noexcept {
        ticks += std::exchange(last, t.number()) != t.number();
        room.assign(1000, 0);
        return give(t, out, ticks % 3 == 0 ? ration::unlimited : 0);  // both are within all bounds
    }
    std::size_t save(std::span<std::byte> space) const noexcept {
        ration::state_writer out(space);
        if (Kind != kept::nothing) {
            out.put(ticks);
            out.put(last);
        }
        return out.needed();
    }
    status load(std::span<std::byte const> saved) noexcept {
        if (Kind == kept::nothing) return status::ok;
        if (Kind == kept::without_room) std::vector<int>().swap(room);
        ration::state_reader in(saved);
        return in.get(ticks) && in.get(last) && in.finished() && Kind != kept::refused ? status::ok : status::state;
    }
};

/// Reads a column that only its author's host offers.
struct reads_its_own : lawless<in<double, "jobs/mood">> {
    double sum = 0;
    status decide(tick<inputs> const& t, grants&) noexcept {
        for (double const m : t.get<"jobs/mood">()) sum += m;
        return status::ok;
    }
};

}  // namespace

TEST_CASE("the policies of this library keep the laws", "[laws][policy]") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        INFO("seed " << seed);
        policy_law_options const options{.seed = seed, .ticks = 400, .allocations = allocations};
        CHECK(verdict<ration::policies::none>(options) == "");
        CHECK(verdict<ration::policies::equal_share>(options) == "");
        CHECK(verdict<ration::policies::tradl>(options) == "");
        CHECK(verdict<ration::policies::loss_delta_ratio>(options) == "");
        CHECK(verdict<ration::testing::policy_archetype>(options) == "");
        CHECK(verdict<ration::policies::elastic_batch_dp>(options) == "");
        for (auto const scenario : {ration::policies::tradl_scenario::AO, ration::policies::tradl_scenario::NA})
            CHECK(broken(policy_laws([&] { return ration::policies::tradl({.alpha = 0.5, .scenario = scenario}); },
                                     options)) == "");
    }
}

TEST_CASE("a policy that pauses jobs by rounding is caught", "[laws][policy]") {
    auto const paused = policy_laws([] { return divides<to_nothing>{}; }),
               too_little = policy_laws([] { return divides<to_millicores>{}; });
    CHECK(broken(paused) == "Policy law 7");
    CHECK(std::string_view(paused.failure().subject).find("is granted 0 millicores: grant ration::least_cpu") !=
          std::string_view::npos);
    CHECK(broken(too_little) == "Policy law 2");
    CHECK(std::string_view(too_little.failure().subject).find("the CPU amount is below 10 millicores") !=
          std::string_view::npos);
    CHECK(verdict<divides<to_least>>() == "");
}

TEST_CASE("a policy whose instances differ is caught", "[laws][policy]") {
    CHECK(verdict<counts_all_instances>() == "Policy law 1");
    CHECK(verdict<knows_its_address>() == "Policy law 1");
    CHECK(verdict<fails_now_and_then>() == "Policy law 1");
}

TEST_CASE("a policy whose grants do not pass is caught, with the rule and the row", "[laws][policy]") {
    CHECK(verdict<gives_too_much>() == "Policy law 2");
    CHECK(verdict<gives_to_strangers>() == "Policy law 2");
    CHECK(verdict<ignores_bounds>() == "Policy law 2");
    auto const verdict = policy_laws([] { return gives_to_strangers{}; });
    CHECK(verdict.failure().subject == "row 0 at tick 0: no such job exists");
}

TEST_CASE("a policy that does not read again what changes under running jobs is caught", "[laws][policy]") {
    auto const capacity = policy_laws([] { return gives_the_node<reads::at_first>{}; }),
               minimum = policy_laws([] { return gives_the_least<reads::at_first>{}; });
    REQUIRE(broken(capacity) == "Policy law 2");
    CHECK(std::string_view(capacity.failure().subject).find("promise more than it has") != std::string_view::npos);
    REQUIRE(broken(minimum) == "Policy law 2");
    CHECK(std::string_view(minimum.failure().subject).find("below the job's minimum") != std::string_view::npos);
    CHECK(verdict<gives_the_node<reads::always>>() == "");
    CHECK(verdict<gives_the_least<reads::always>>() == "");
}

TEST_CASE("a policy without an answer is caught", "[laws][policy]") {
    CHECK(verdict<gives_up>() == "Policy law 2");
    CHECK(verdict<never_ends>() == "Policy law 2");
}

TEST_CASE("a policy that allocates in decide is caught, if somebody counts", "[laws][policy]") {
    CHECK(verdict<allocates>() == "Policy law 4");
    CHECK(verdict<allocates>(policy_law_options{}) == "");
    CHECK(verdict<allocates_at_once>() == "");
}

TEST_CASE("a policy that answers a repeated tick otherwise, or later ones for it, is caught", "[laws][policy]") {
    CHECK(verdict<knows_when_it_is_asked_again>() == "Policy law 5");
    CHECK(verdict<remembers_the_second_call>() == "Policy law 5");
    auto const at_once = policy_laws([] { return knows_when_it_is_asked_again{}; }),
               later = policy_laws([] { return remembers_the_second_call{}; });
    CHECK(std::string_view(at_once.failure().subject).find("asked again it differs at tick ") == 0);
    CHECK(
        std::string_view(later.failure().subject).find("an instance that was asked each tick twice differs at tick ") ==
        0);
}

TEST_CASE("a policy that does not save all that it remembers, or does not take it back, is caught", "[laws][policy]") {
    CHECK(verdict<counts_ticks<kept::all>>() == "");
    CHECK(verdict<counts_ticks<kept::nothing>>() == "Policy law 6");
    CHECK(verdict<counts_ticks<kept::refused>>() == "Policy law 6");
    CHECK(verdict<counts_ticks<kept::without_room>>() == "Policy law 4");
    auto const refused = policy_laws([] { return counts_ticks<kept::refused>{}; });
    CHECK(refused.failure().subject == "load refuses what was saved before tick 0");
}

TEST_CASE("a policy that cannot be tried is no broken law", "[laws][policy]") {
    CHECK(verdict<cannot_prepare>() == "prepare policy");
    auto const lacking = policy_laws([] { return reads_its_own{}; });
    REQUIRE_FALSE(lacking);
    CHECK(lacking.failure().code == ration::errc::not_found);
    CHECK(lacking.failure().subject == "jobs/mood");
}

TEST_CASE("my policy keeps the laws of a Policy", "[laws][policy]") {
    auto const kept =
        ration::testing::policy_laws([] { return ration::policies::equal_share{}; }, {.allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}

TEST_CASE("the synthetic cluster offers the columns that the author fills", "[laws][policy]") {
    policy_law_options options = watched;
    options.fill = [](ration::snapshot_store& store, std::uint64_t tick) {
        auto const mood = store.declare<double>("jobs/mood");
        for (auto& m : store[*mood]) m = static_cast<double>(tick);
    };
    CHECK(verdict<reads_its_own>(options) == "");
}
