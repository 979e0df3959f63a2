// SPDX-License-Identifier: BSL-1.0
// A plugin of the tests, opened and bound to a host with three jobs.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <ration/plugin/host/host.hpp>

#include "support/catch.hpp"
#include "unit/host.hpp"

namespace plugin_test {

using namespace ration;
using plugin::isolation;

[[nodiscard]] inline std::string path_of(std::string const& name) { return RATION_TEST_PLUGINS "/" + name + ".so"; }

[[nodiscard]] inline plugin::open_options options(isolation where, std::string_view config = {}) {
    plugin::open_options o{
        .where = where, .config = config, .worker = {.program = {RATION_TEST_WORKER, {}}}, .strikes = {}};
    o.worker.first_pause = milliseconds(1);
    o.worker.deadline = seconds(2);  // on a busy machine; tests of the deadline set their own
    return o;
}

[[nodiscard]] inline std::unique_ptr<plugin::guarded_policy> opened_file(std::string const& name,
                                                                         plugin::open_options const& with) {
    auto opened = plugin::open(name.starts_with('/') ? name : path_of(name), with);
    if (!opened) FAIL(std::string(opened.failure().subject.view()) << ": " << opened.failure().remedy);
    return std::move(opened).value();
}

struct loaded {
    unit::host on{3};
    std::unique_ptr<plugin::guarded_policy> policy;
    std::uint64_t ticks = 0;
    std::array<grant, 16> space{};
    std::size_t rows = 0;

    /// By name, or by its whole path.
    loaded(std::string const& name, plugin::open_options const& with) : loaded(opened_file(name, with)) {}
    explicit loaded(std::unique_ptr<plugin::guarded_policy> opened) : policy(std::move(opened)) {
        auto const bound = policy->bind(on.store.schema(), {.jobs = 3, .nodes = 1});
        if (!bound) FAIL(std::string(bound.failure().subject.view()));
    }

    [[nodiscard]] status tick() {
        grants out(space);
        auto const reply = policy->decide({.number = ticks++,
                                           .seed = 1,
                                           .now = seconds(static_cast<std::int64_t>(ticks)),
                                           .budget = milliseconds(50),
                                           .data = on.store.view()},
                                          out);
        rows = out.rows().size();
        return reply;
    }
    /// Ticks until one succeeds; how many it took.
    [[nodiscard]] int ticks_until_ok(int most = 2000) {
        for (int i = 1; i <= most; ++i) {
            if (tick() == status::ok) return i;
            ::usleep(1000);
        }
        return -1;
    }
    [[nodiscard]] std::int64_t amount() const { return space[0].amount; }
    [[nodiscard]] std::string fault() const { return policy->last_fault().what.c_str(); }
};

/// The error of opening.
[[nodiscard]] inline error refusal(std::string const& path, plugin::open_options const& with) {
    auto const opened = plugin::open(path, with);
    REQUIRE_FALSE(opened);
    return opened.failure();
}

}  // namespace plugin_test
