// SPDX-License-Identifier: BSL-1.0
#include <cstring>
#include <string>

#include <ration/adapt/policies/tradl.hpp>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/plugin/manifest_of.hpp>
#include <ration/policies/equal_share.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::plugin;

namespace {

struct wants_vectors {
    using policy_concept = policy_tag;
    using inputs = columns<in_rows<double, "jobs/speedup">, in<std::uint32_t, "nodes/colour">>;
    static constexpr meta about{.id = "org.example.wants-vectors", .version = "0.1.0"};
    [[nodiscard]] static status decide(tick<inputs> const&, grants&) noexcept { return status::ok; }
};

[[nodiscard]] std::string refused(ration_manifest const& m) {
    auto const judged = acceptable(m);
    REQUIRE_FALSE(judged);
    return judged.failure().subject.c_str();
}

}  // namespace

TEST_CASE("the manifest says what the class says", "[manifest]") {
    constexpr auto m = manifest_of<wants_vectors>();
    CHECK(std::string(m.id) == "org.example.wants-vectors");
    CHECK(std::string(m.name) == "wants_vectors");
    CHECK(std::string(m.needs) == "jobs/speedup f64[]\nnodes/colour u32\n");
    CHECK(std::string(m.parameters).empty());
    CHECK(acceptable(m));
    auto const needs = needs_of(m);
    REQUIRE(needs);
    REQUIRE(needs->size() == 2);
    CHECK(((*needs)[0].name == "jobs/speedup" && (*needs)[0].type == column_type::f64 &&
           (*needs)[0].shape == column_shape::vector));
    CHECK(((*needs)[1].type == column_type::u32 && (*needs)[1].shape == column_shape::scalar));
    CHECK(std::string(manifest_of<policies::equal_share>().reasons) ==
          "\none n-th of the machine for each of n jobs\n");
}

TEST_CASE("a manifest that this host cannot serve is refused by what is wrong with it", "[manifest]") {
    auto const good = manifest_of<wants_vectors>();
    auto m = good;
    m.magic[6] = '2';
    CHECK(refused(m) == "ABI");
    m = good;
    m.abi_minor_needed = RATION_ABI_MINOR + 1;
    CHECK(refused(m) == "ABI minor");
    m = good;
    m.layout ^= 1;
    CHECK(refused(m) == "layout");
    m = good;
    m.struct_size = 100;
    CHECK(refused(m) == "size");
    m = good;
    std::memset(m.summary, 'x', sizeof m.summary);
    CHECK(refused(m) == "text");
    for (char const control : {'\x1b', '\n', '\x7f'}) {
        m = good;
        m.vendor[0] = control;
        m.vendor[1] = '\0';
        CHECK(refused(m) == "text");
    }
    m = good;
    m.name[0] = '\0';
    CHECK(refused(m) == "id and name");
    m = good;
    m.flags |= 1U << 20;
    CHECK(refused(m) == "flags");
    m = good;
    std::strcpy(m.extensions, "org.example.dreams/1\norg.example.clocks/2\n");
    CHECK(refused(m) == "extension org.example.dreams/1");
    std::memset(m.extensions, 'x', sizeof m.extensions - 1);
    CHECK(refused(m).starts_with("extension xxx"));
}

TEST_CASE("a semantic version is three numbers, and what may follow them", "[manifest]") {
    for (char const* good : {"0.0.0", "1.0.0", "10.20.30", "1.0.0-rc", "1.0.0-0", "1.0.0-rc.1", "1.0.0-x-y-z.--",
                             "1.0.0-01a", "1.0.0+001", "1.0.0-rc.1+exp.sha-5114f85"}) {
        INFO(good);
        CHECK(is_semantic_version(good));
    }
    for (char const* bad : {"",        "banana",    "1",          "1.0",        "1.0.",   ".1.0",     "1..0",
                            "1.0.0.0", "v1.0.0",    "01.0.0",     "1.0.00",     "1.0.0-", "1.0.0-01", "1.0.0-rc..1",
                            "1.0.0+",  "1.0.0+a+b", "1.0.0+a..b", "1.0.0-rc_1", "1.0.0 ", "-1.0.0",   "1.0.x"}) {
        INFO(bad);
        CHECK_FALSE(is_semantic_version(bad));
    }
}

TEST_CASE("a line of needs that is none is refused, and named", "[manifest]") {
    for (char const* line : {"jobs/id", "jobs/id u16", "id u64", "jobs/id u64 ", " u64", "jobs/id  u64", "jobs/ u64"}) {
        auto m = manifest_of<wants_vectors>();
        std::strcpy(m.needs, line);
        auto const needs = needs_of(m);
        INFO(line);
        REQUIRE_FALSE(needs);
        CHECK(needs.failure().subject == line);
        CHECK(refused(m) == line);  // before any code of the plugin runs
    }
}

TEST_CASE("a plugin that asks for more scratch than there may be is refused with the field's name", "[manifest]") {
    static std::uint64_t asked = 0;
    ration_policy table{};
    table.create = [](ration_host const*, char const*, std::uint64_t, void** self, char*,
                      std::uint64_t) -> std::int32_t {
        *self = &asked;
        return RATION_OK;
    };
    table.destroy = [](void*) {};
    table.bind = [](void*, ration_schema const*, std::uint64_t* scratch, char*, std::uint64_t) -> std::int32_t {
        *scratch = asked;
        return RATION_OK;
    };
    live_instance live(table);
    REQUIRE(live.create("") == RATION_OK);
    for (std::uint64_t const most : {std::uint64_t{0}, std::uint64_t{largest_scratch}}) {
        asked = most;
        CHECK(live.bind({}, {}) == RATION_OK);
        CHECK(live.sentence().empty());
    }
    for (std::uint64_t const more : {std::uint64_t{largest_scratch} + 1, ~std::uint64_t{0}}) {
        asked = more;
        CHECK(live.bind({}, {}) == RATION_E_ARG);
        CHECK(live.sentence() == "its bind asks for a scratch_size of " + std::to_string(more) +
                                     " bytes, and 256 MiB are the most: ask for less");
    }
}

TEST_CASE("a description owns its texts", "[manifest]") {
    auto const described = std::make_unique<described_policy>(manifest_of<policies::tradl>());
    CHECK(described->name() == "tradl");
    CHECK(described->about().reason(5) == "Objective reached: released");
    CHECK(described->about().reason(6).empty());
    CHECK(described->about().license == "BSL-1.0");
}
