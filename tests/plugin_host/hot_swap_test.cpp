// SPDX-License-Identifier: BSL-1.0
// Changing the policy while it runs.
#include <fstream>
#include <string>

#include <ration/plugin/host/hot_swap.hpp>
#include <ration/policies/equal_share.hpp>

#include "loaded.hpp"

using namespace plugin_test;
using plugin::swap_phase;

namespace {

struct swapping {
    unit::host on{3};
    plugin::hot_swap_policy policy;
    std::array<grant, 16> space{};
    std::uint64_t ticks = 0;
    std::size_t rows = 0;

    explicit swapping(std::unique_ptr<any_policy> first) : policy(std::move(first)) {
        unit::must(policy.bind(on.store.schema(), {.jobs = 3, .nodes = 1}));
    }
    [[nodiscard]] status tick() {
        grants out(space);
        auto const reply = policy.decide(
            {.number = ticks++, .seed = 1, .now = {}, .budget = milliseconds(50), .data = on.store.view()}, out);
        rows = out.rows().size();
        return reply;
    }
};

/// Follows changes. Notes for each of its ticks if it got a list, and fails in one tick.
class listener final : public any_policy {
    static constexpr meta about_{.id = "org.example.listener", .version = "1.0.0"};
    std::string& heard_;
    char name_;
    std::uint64_t fails_at_;

public:
    listener(std::string& heard, char name, std::uint64_t fails_at = 0)
        : heard_(heard), name_(name), fails_at_(fails_at) {}
    [[nodiscard]] meta const& about() const noexcept override { return about_; }
    [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
    [[nodiscard]] bool follows_changes() const noexcept override { return true; }
    [[nodiscard]] status decide(tick_data const& t, grants&) noexcept override {
        heard_ += {name_, t.changes == nullptr ? '-' : '+', ' '};
        return fails_at_ != 0 && t.number == fails_at_ ? status::internal : status::ok;
    }
};

/// The calls that the policies receive in six ticks of a host that lists changes. The exchange begins after the second.
[[nodiscard]] std::string heard_in(plugin::swap_rules rules, std::uint64_t fails_at = 0) {
    std::string heard;
    plugin::hot_swap_policy policy(std::make_unique<listener>(heard, 'a'));
    snapshot_store store;
    store.changes().follow();
    unit::must(policy.bind({}, {.jobs = 1, .nodes = 1}));
    for (std::uint64_t tick = 1; tick <= 6; ++tick) {
        if (tick == 3) unit::must(policy.change_to(std::make_unique<listener>(heard, 'b', fails_at), rules));
        grants out({});
        bool const listed = policy.follows_changes();
        CHECK(policy.decide({.number = tick, .data = store.view(), .changes = store.changes().view()}, out) ==
              status::ok);
        CHECK(listed == (heard[heard.size() - 2] == '+'));  // a host can query it before the tick
    }
    return heard;
}

[[nodiscard]] std::unique_ptr<any_policy> fresh(char const* name, std::string_view config = {}) {
    auto opened = plugin::open(path_of(name), options(isolation::in_process, config));
    REQUIRE(opened);
    return std::move(opened).value();
}

[[nodiscard]] std::size_t mapped_plugins() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("ration-plugin") != line.npos && line.find(" r-xp ") != line.npos;
    return count;
}

}  // namespace

TEST_CASE("the new policy goes on where the old one was, and the old code is unmapped", "[plugin][swap]") {
    swapping s(fresh("counter"));
    std::size_t const before = mapped_plugins();
    for (int i = 1; i <= 200; ++i) {
        REQUIRE(s.tick() == status::ok);
        REQUIRE(s.space[0].amount == i);
        REQUIRE(s.policy.change_to(fresh("counter")));
        CHECK(s.policy.take_retired() != nullptr);
        CHECK(mapped_plugins() == before);
    }
}

TEST_CASE("in its shadow the new policy decides and does not count", "[plugin][swap]") {
    swapping s(fresh("counter"));
    for (int i = 1; i <= 4; ++i) REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(fresh("counter", "{\"step\":10}"), {.shadow_ticks = 3}));
    CHECK_FALSE(s.policy.change_to(fresh("counter")));
    for (int i = 5; i <= 7; ++i) {
        REQUIRE(s.tick() == status::ok);
        CHECK(s.space[0].amount == i);
        CHECK(s.policy.report().phase == swap_phase::shadow);
    }
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 44);  // 4, and 10 for each of four ticks
    CHECK(s.policy.report().phase == swap_phase::settled);
    CHECK(s.policy.report().shadow_ticks == 3);
    CHECK(s.policy.report().differing == 3);
    CHECK_FALSE(s.policy.report().rolled_back);
}

TEST_CASE("a new policy that fails in its shadow is dropped", "[plugin][swap]") {
    swapping s(fresh("mischief"));
    REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(fresh("mischief", "throw@3"), {.shadow_ticks = 5}));
    for (int i = 2; i <= 8; ++i) {
        REQUIRE(s.tick() == status::ok);
        CHECK(s.space[0].amount == i);
    }
    CHECK(s.policy.report().rolled_back);
    CHECK(s.policy.report().phase == swap_phase::settled);
    CHECK(s.policy.take_retired() != nullptr);
}

TEST_CASE("a new policy that fails in its first ticks gives way to the old one in the same tick", "[plugin][swap]") {
    swapping s(fresh("mischief"));
    REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(fresh("mischief", "throw@3"), {.warm_ticks = 5}));
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 2);
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 2);  // the old one, which saw one tick less
    CHECK(s.policy.report().rolled_back);
}

TEST_CASE("rejected grants in the first ticks roll back as well", "[plugin][swap]") {
    swapping s(fresh("counter"));
    REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(fresh("counter", "{\"step\":50}"), {.warm_ticks = 5}));
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 51);
    event const refused{.kind = event_kind::grant_rejected};
    s.policy.on_events({&refused, 1});
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 2);
    CHECK(s.policy.report().rolled_back);
}

TEST_CASE("what became of the old one's grants is not held against the new one in its shadow", "[plugin][swap]") {
    swapping s(fresh("counter"));
    REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(fresh("counter"), {.shadow_ticks = 5}));
    event const refused{.kind = event_kind::grant_rejected}, lost{.kind = event_kind::state_lost};
    for (int i = 2; i <= 6; ++i) {
        REQUIRE(s.tick() == status::ok);
        if (i < 4) s.policy.on_events({&refused, 1});  // twice: three times would end the old one
    }
    s.policy.on_events({&lost, 1});  // received by both
    REQUIRE(s.tick() == status::ok);
    CHECK(s.space[0].amount == 1007);
    CHECK_FALSE(s.policy.report().rolled_back);
    CHECK(dynamic_cast<plugin::guarded_policy&>(s.policy.current()).strikes() == 0);
}

TEST_CASE("another policy starts anew", "[plugin][swap]") {
    swapping s(fresh("counter"));
    REQUIRE(s.tick() == status::ok);
    REQUIRE(s.policy.change_to(std::make_unique<policy_adapter<policies::equal_share>>()));
    REQUIRE(s.tick() == status::ok);
    CHECK(s.rows == 3);
    CHECK(s.policy.about().id == "ration.equal-share");
}

TEST_CASE("a list of changes reaches only a policy that has decided the last tick", "[plugin][swap]") {
    CHECK(heard_in({}) == "a+ a+ b- b+ b+ b+ ");
    CHECK(heard_in({.shadow_ticks = 2}) == "a+ a+ a- b- a- b- b- b+ ");
    CHECK(heard_in({.warm_ticks = 2}) == "a+ a+ b- b- b- b+ ");
    CHECK(heard_in({.warm_ticks = 3}, 4) == "a+ a+ b- b- a- a+ a+ ");
}
