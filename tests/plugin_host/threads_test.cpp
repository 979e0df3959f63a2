// SPDX-License-Identifier: BSL-1.0
// What more than one thread does with policies, for ThreadSanitizer: in any other build these tests see the answers and
// no more. The hosts' own threads are checked on the main thread afterwards, because Catch2's assertions belong to one
// thread.
#include <atomic>
#include <thread>
#include <vector>

#include <ration/plugin/host/hot_swap.hpp>
#include <ration/plugin/host/policy_slot.hpp>
#include <ration/policies/tradl.hpp>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

/// One tick of a host with three jobs; -1 when there was no answer, else the amount of its first grant.
[[nodiscard]] std::int64_t amount_of_tick(any_policy& policy, unit::host& on, std::uint64_t number) {
    std::array<grant, 16> space{};
    grants out(space);
    auto const reply = policy.decide({.number = number,
                                      .seed = 1,
                                      .now = seconds(static_cast<std::int64_t>(number)),
                                      .budget = seconds(5),
                                      .data = on.store.view()},
                                     out);
    return reply == status::ok && !out.rows().empty() ? out.rows()[0].amount : -1;
}

/// What a thread beside the ticks does: opens plugins, hands them over, and ends the ones that have retired.
struct workshop {
    plugin::policy_slot coming, going;
    std::atomic<int> failures{0}, ended{0};

    void make(int how_many, isolation where) {
        for (int i = 0; i < how_many; ++i) {
            auto opened = plugin::open(path_of("counter"), options(where));
            if (!opened) {
                ++failures;
                continue;
            }
            std::unique_ptr<any_policy> next = std::move(opened).value();
            while (!coming.leave(next)) std::this_thread::yield();
            std::unique_ptr<any_policy> old;
            while ((old = going.take()) == nullptr) std::this_thread::yield();
            old.reset();
            ++ended;
        }
    }
};

/// The faults in a thread that ticks a separate policy.
struct lone_ticks {
    bool bound = false;
    int wrong = 0;

    void run(any_policy& policy, int ticks, std::int64_t first) {
        unit::host on{3};
        bound = static_cast<bool>(policy.bind(on.store.schema(), {.jobs = 3, .nodes = 1}));
        for (int i = 0; bound && i < ticks; ++i)
            wrong += amount_of_tick(policy, on, static_cast<std::uint64_t>(i)) != first + i;
    }
};

}  // namespace

TEST_CASE("a policy is prepared in another thread while ticks go on, and the old one is ended there",
          "[plugin][threads]") {
    auto const [where, changes] =
        GENERATE(table<isolation, int>({{isolation::in_process, 50}, {isolation::worker, 4}}));
    unit::host on{3};
    plugin::hot_swap_policy policy(std::make_unique<policy_adapter<policies::tradl>>());
    unit::must(policy.bind(on.store.schema(), {.jobs = 3, .nodes = 1}));
    workshop beside;
    std::thread shop([&] { beside.make(changes, where); });
    std::uint64_t ticks = 0, wrong = 0;
    int changed = 0;
    for (std::int64_t expected = 0; changed < changes || beside.ended < changes; ++ticks) {
        if (beside.failures != 0) break;
        if (auto next = beside.coming.take()) {
            bool const took = static_cast<bool>(policy.change_to(std::move(next)));
            auto old = policy.take_retired();
            wrong += !took || old == nullptr || !beside.going.leave(old);
            ++changed;
        }
        auto const amount = amount_of_tick(policy, on, ticks);
        if (changed != 0) wrong += amount != ++expected;  // the counter never restarts, whichever policy counts
    }
    shop.join();
    CHECK(beside.failures == 0);
    CHECK(wrong == 0);
    CHECK(changed == changes);
    CHECK(ticks > static_cast<std::uint64_t>(changes));
}

TEST_CASE("instances of one plugin in several threads know nothing of each other", "[plugin][threads]") {
    std::vector<std::unique_ptr<any_policy>> policies;
    for (int i = 0; i < 4; ++i) {
        auto opened = plugin::open(path_of("counter"), options(i == 3 ? isolation::worker : isolation::in_process));
        REQUIRE(opened);
        policies.push_back(std::move(opened).value());
    }
    std::vector<lone_ticks> seen(policies.size());
    std::vector<std::thread> crew;
    for (std::size_t i = 0; i < policies.size(); ++i) crew.emplace_back([&, i] { seen[i].run(*policies[i], 500, 1); });
    for (auto& thread : crew) thread.join();
    for (auto const& one : seen) {
        CHECK(one.bound);
        CHECK(one.wrong == 0);
    }
}

TEST_CASE("the thread of the ticks may change between two of them", "[plugin][threads]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    loaded counter("counter", options(where));
    for (std::int64_t i = 1; i <= 8; ++i) {
        std::int64_t amount = -1;
        std::thread([&] {
            amount = amount_of_tick(*counter.policy, counter.on, static_cast<std::uint64_t>(i));
        }).join();
        CHECK(amount == i);
    }
}

TEST_CASE("a handover holds one policy and ends what nobody takes", "[plugin][threads]") {
    plugin::policy_slot place;
    CHECK(place.take() == nullptr);
    std::unique_ptr<any_policy> one = std::make_unique<policy_adapter<policies::tradl>>(),
                                two = std::make_unique<policy_adapter<policies::tradl>>();
    auto* const first = one.get();
    REQUIRE(place.leave(one));
    CHECK(one == nullptr);
    CHECK_FALSE(place.leave(two));
    CHECK(two != nullptr);
    auto const taken = place.take();
    CHECK(taken.get() == first);
    CHECK(place.take() == nullptr);
    CHECK(place.leave(two));  // a leak where there is a sanitizer that sees one
}
