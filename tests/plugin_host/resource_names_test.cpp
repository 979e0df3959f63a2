// SPDX-License-Identifier: BSL-1.0
// The numbers of a host's resources, as plugins find them by name.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/plugin/export.hpp>
#include <ration/plugin/host/hot_swap.hpp>
#include <ration/setting.hpp>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

using numbers = std::array<std::int64_t, 3>;  // of memory.soft, batch and gpu.sm

constexpr numbers in_standard_host{-1, 5, 3}, in_named_host{6, -1, 3};

/// Binds to a host that has memory.soft and, instead of batch, `tokens`. Its names are gone afterwards.
[[nodiscard]] result<void> bind_to_named_host(any_policy& policy, std::span<column_info const> schema) {
    std::vector<std::string> const own{"cpu", "memory", "gpu", "gpu.sm", "cache", "tokens", "memory.soft"};
    std::vector<resource_info> all;
    for (auto const& name : own) all.push_back({.name = name, .unit = {}});
    return policy.bind(schema, {.jobs = 3, .nodes = 1, .resources = all.size(), .resource_table = all.data()});
}

[[nodiscard]] numbers found_by(loaded const& plugin) {
    REQUIRE(plugin.rows == 3);
    return {plugin.space[0].amount, plugin.space[1].amount, plugin.space[2].amount};
}

/// Keeps what `prepare` found, for calls through the ABI.
struct asking {
    using policy_concept = policy_tag;
    using inputs = columns<>;
    static constexpr meta about{.id = "org.example.test-asking", .version = "1.0.0"};
    static inline std::optional<resource_id> soft, sm;

    [[nodiscard]] static status prepare(limits const& most) noexcept {
        soft = find_resource(most, "memory.soft");
        sm = find_resource(most, "gpu.sm");
        return status::ok;
    }
    [[nodiscard]] static status decide(tick<inputs> const&, grants&) noexcept { return status::ok; }
};

/// Cannot do without memory.soft.
struct needy : asking {
    static constexpr meta about{.id = "org.example.test-needy", .version = "1.0.0"};
    [[nodiscard]] static status prepare(limits const& most) noexcept {
        return find_resource(most, "memory.soft") ? status::ok : status::unsupported;
    }
};

/// The code and the message of `bind`.
template <class P>
[[nodiscard]] std::pair<std::int32_t, std::string> answer_to(ration_schema const& schema) {
    auto const table = plugin::exported<P>::table(nullptr);
    void* self = nullptr;
    std::uint64_t scratch = 0;
    char err[256] = "";
    REQUIRE(table.create(nullptr, "", 0, &self, nullptr, 0) == RATION_OK);
    std::int32_t const code = table.bind(self, &schema, &scratch, err, sizeof err);
    table.destroy(self);
    return {code, err};
}
void bind_asking(ration_schema const& schema) { CHECK(answer_to<asking>(schema).first == RATION_OK); }

}  // namespace

TEST_CASE("a plugin finds the host's resources by name", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    loaded naming("naming", options(where));
    REQUIRE(naming.tick() == status::ok);
    CHECK(found_by(naming) == in_standard_host);
    REQUIRE(bind_to_named_host(*naming.policy, naming.on.store.schema()));
    REQUIRE(naming.tick() == status::ok);
    CHECK(found_by(naming) == in_named_host);
}

TEST_CASE("a worker that is started again has the same names", "[plugin]") {
    loaded naming("naming", options(isolation::worker));
    REQUIRE(bind_to_named_host(*naming.policy, naming.on.store.schema()));
    REQUIRE(naming.tick() == status::ok);
    ::kill(static_cast<plugin::worker_policy&>(naming.policy->policy()).pid(), SIGKILL);
    CHECK(naming.tick() == status::internal);
    REQUIRE(naming.ticks_until_ok() > 0);
    CHECK(found_by(naming) == in_named_host);
}

TEST_CASE("a policy that is exchanged for another one passes the names on", "[plugin][swap]") {
    auto const open = [] {
        auto opened = plugin::open(path_of("naming"), options(isolation::in_process));
        REQUIRE(opened);
        return std::move(opened).value();
    };
    unit::host on{3};
    plugin::hot_swap_policy policy(open());
    unit::must(bind_to_named_host(policy, on.store.schema()));
    unit::must(policy.change_to(open()));
    std::array<grant, 3> space{};
    grants out(space);
    REQUIRE(policy.decide({.number = 1, .data = on.store.view()}, out) == status::ok);
    CHECK(numbers{space[0].amount, space[1].amount, space[2].amount} == in_named_host);
}

TEST_CASE("a host with an older header has the standard resources", "[plugin]") {
    std::array const names{"cpu", "memory.soft", "gpu"};
    ration_schema schema{};
    schema.n_resources = names.size();
    schema.resource_name = names.data();
    schema.struct_size = sizeof schema;
    bind_asking(schema);
    CHECK((asking::soft == resource_id::memory && !asking::sm));
    schema.struct_size = offsetof(ration_schema, resource_name);
    schema.n_resources = 6;  // more than there are names, so that a read of them shows
    bind_asking(schema);
    CHECK((!asking::soft && asking::sm == resource_id::gpu_sm));
    // A host that names none
    schema.struct_size = sizeof schema;
    schema.resource_name = nullptr;
    bind_asking(schema);
    CHECK((!asking::soft && asking::sm == resource_id::gpu_sm));
    schema.n_resources = 3;  // without gpu.sm
    bind_asking(schema);
    CHECK_FALSE(asking::sm);
}

TEST_CASE("a plugin refuses a host without a resource that it needs, in a sentence", "[plugin]") {
    std::array const names{"cpu", "memory.soft"};
    ration_schema schema{};
    schema.struct_size = sizeof schema;
    schema.n_resources = names.size();
    schema.resource_name = names.data();
    CHECK(answer_to<needy>(schema) == std::pair<std::int32_t, std::string>(RATION_OK, ""));
    schema.resource_name = nullptr;
    CHECK(answer_to<needy>(schema) ==
          std::pair<std::int32_t, std::string>(RATION_E_UNSUPPORTED, "this host lacks a resource that it needs"));
}
