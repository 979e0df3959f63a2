// SPDX-License-Identifier: BSL-1.0
// The changed and the written rows that an exported class reports, before hosts of each age.
#include <array>

#include <ration/plugin/export.hpp>

#include "support/catch.hpp"

using namespace ration;

namespace {

/// Answers with the number of the tick, for as many jobs as there is space for.
struct counting {
    using policy_concept = policy_tag;
    using inputs = columns<>;
    static constexpr meta about{.id = "org.example.test-counting", .version = "1.0.0"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        while (out.room() != 0)
            if (!out.set(out.size(), 0, resource_id::cpu, static_cast<std::int64_t>(t.number())))
                return status::capacity;
        return status::ok;
    }
};

struct listening_host {
    std::array<ration_grant, 1000> space{};
    std::array<std::uint32_t, 4> list{};
    std::uint64_t count = 0, written = 0;
    ration_changed_rows changed{sizeof changed, 0, list.size(), &count, list.data(), &written};
    ration_policy const plugin = plugin::exported<counting>::table(nullptr);
    void* self = nullptr;

    static void const* extension(void* context, char const* name) {
        return std::string_view(name) == RATION_EXT_CHANGED_ROWS ? &static_cast<listening_host*>(context)->changed
                                                                 : nullptr;
    }

    explicit listening_host(std::uint32_t size) {
        changed.struct_size = size;
        ration_host host{};
        host.struct_size = sizeof host;
        host.ctx = this;
        host.extension = extension;
        REQUIRE(plugin.create(&host, "", 0, &self, nullptr, 0) == RATION_OK);
        ration_schema schema{};
        std::uint64_t scratch = 0;
        REQUIRE(plugin.bind(self, &schema, &scratch, nullptr, 0) == RATION_OK);
    }
    listening_host(listening_host const&) = delete;
    ~listening_host() { plugin.destroy(self); }

    void tick(std::uint64_t number) {
        count = ~std::uint64_t{0};
        written = 0;
        table_view const table{};
        table_view const* const tables[] = {&table, &table, &table, &table};
        ration_tick t{};
        t.struct_size = sizeof t;
        t.number = number;
        t.table = reinterpret_cast<ration_table const* const*>(tables);
        ration_out out{sizeof out, 0, space.size(), 0, 0, space.data()};
        REQUIRE(plugin.decide(self, &t, &out) == RATION_OK);
        REQUIRE((out.count == space.size() && space.back().amount == static_cast<std::int64_t>(number)));
    }
};

// Sizes of the list
constexpr std::uint32_t first = offsetof(ration_changed_rows, written), today = sizeof(ration_changed_rows);

}  // namespace

TEST_CASE("a host that offers less or more than this header knows is told what it can hear", "[plugin]") {
    auto const [size, lists, emits] = GENERATE(table<std::uint32_t, bool, bool>(
        {{first - 8, false, false}, {first, true, false}, {today, true, true}, {today + 8, true, true}}));
    INFO(size);
    listening_host host(size);
    host.tick(1);
    host.tick(1);  // the same answer: no row changes
    CHECK((host.count == 0) == lists);
    CHECK(host.written == 0);
    host.tick(2);
    CHECK(host.count > host.list.size());
    CHECK((host.written > 700) == emits);
    CHECK((host.written == 0) == !emits);
}

TEST_CASE("a host that hears nothing of rows that are written is not told", "[plugin]") {
    listening_host host(sizeof(ration_changed_rows));
    host.changed.written = nullptr;
    host.tick(1);
    CHECK(host.written == 0);
}
