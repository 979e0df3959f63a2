// SPDX-License-Identifier: BSL-1.0
// What a plugin logs reaches the host, from wherever it runs, and never more of it than the host can take.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ration/plugin/host/worker_log.hpp>

#include "loaded.hpp"

using namespace plugin_test;

namespace {

struct received {
    std::vector<std::pair<std::uint32_t, std::string>> lines;
    [[nodiscard]] plugin::log_sink sink() {
        return {[](void* self, std::uint32_t level, std::string_view text) {
                    static_cast<received*>(self)->lines.emplace_back(level, text);
                },
                this};
    }
};

[[nodiscard]] plugin::open_options listening(isolation where, std::string_view config, received& to) {
    auto with = options(where, config);
    with.log = to.sink();
    return with;
}

/// Reads a log that a hostile worker has forged.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> read_forged(std::uint32_t size, std::uint32_t length) {
    auto const log = std::make_unique<plugin::worker_log>();
    std::uint32_t const head[] = {RATION_LOG_INFO, length};
    std::memcpy(log->lines, head, sizeof head);
    log->size = size;
    received to;
    plugin::limited_log limited(to.sink());
    CHECK(plugin::read_worker_log(*log, 0, limited) <= sizeof log->lines);
    return to.lines;
}

}  // namespace

TEST_CASE("what a plugin logs in a tick is there after the tick", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    received to;
    loaded mischief("mischief", listening(where, "say@2", to));
    REQUIRE(mischief.tick() == status::ok);
    CHECK(to.lines.empty());
    REQUIRE(mischief.tick() == status::ok);
    CHECK(to.lines == std::vector<std::pair<std::uint32_t, std::string>>{{RATION_LOG_INFO, "first"},
                                                                         {RATION_LOG_INFO, "second"},
                                                                         {RATION_LOG_ERROR, "of no level there is"}});
    for (int i = 0; i < 3; ++i) REQUIRE(mischief.tick() == status::ok);
    CHECK(to.lines.size() == 3);
}

TEST_CASE("the last words of a worker that dies are heard", "[plugin]") {
    received to;
    loaded mischief("mischief", listening(isolation::worker, "crash@2", to));
    REQUIRE(mischief.tick() == status::ok);
    CHECK(mischief.tick() == status::internal);
    REQUIRE(to.lines.size() == 1);
    CHECK(to.lines[0] == std::pair{std::uint32_t{RATION_LOG_ERROR}, std::string("I am falling")});
}

TEST_CASE("a plugin that logs without end is cut short, and the host says so", "[plugin]") {
    auto const where = GENERATE(isolation::in_process, isolation::worker);
    received to;
    {
        loaded mischief("mischief", listening(where, "chatter@1", to));
        REQUIRE(mischief.tick() == status::ok);
        REQUIRE(mischief.tick() == status::ok);
    }
    CHECK(to.lines.front().second == "line 0");
    CHECK(to.lines.size() <= 2003);  // of two seconds at most, and what was left out
    CHECK(std::ranges::any_of(to.lines, [](auto const& line) { return line.second.ends_with("were left out"); }));
}

TEST_CASE("a log that cannot be is read no further than it goes", "[plugin]") {
    CHECK(read_forged(12, 4) ==
          std::vector<std::pair<std::uint32_t, std::string>>{{RATION_LOG_INFO, std::string(4, '\0')}});
    CHECK(read_forged(12, 5).empty());
    CHECK(read_forged(7, 0).empty());
    CHECK(read_forged(12, ~0U).empty());
    CHECK(read_forged(12, ~0U - 7).empty());
    CHECK(read_forged(~0U, sizeof plugin::worker_log::lines).empty());
    CHECK(read_forged(~0U, sizeof plugin::worker_log::lines - 8).size() == 1);
}
