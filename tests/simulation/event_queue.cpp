// SPDX-License-Identifier: BSL-1.0
#include <set>
#include <tuple>

#include <ration/sim/event_queue.hpp>

#include "support/catch.hpp"

using ration::sim::event_class;
using ration::sim::event_queue;
using ration::sim::sim_event;

TEST_CASE("events come in the order of time, class, subject and version, however they went in", "[sim]") {
    using key = std::tuple<std::int64_t, event_class, std::uint32_t, std::uint32_t>;
    auto const key_of = [](sim_event const& e) { return key{e.at.count, e.what, e.subject, e.version}; };
    std::uint64_t random = 3;
    auto const below = [&](std::uint64_t bound) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return (random >> 33) % bound;
    };
    event_queue queue;
    std::multiset<key> model;
    for (int i = 0; i < 50'000; ++i) {
        if (model.empty() || below(5) < 3) {
            sim_event const e{.at = {static_cast<std::int64_t>(below(200))},
                              .what = static_cast<event_class>(below(2)),
                              .subject = static_cast<std::uint32_t>(below(20)),
                              .version = static_cast<std::uint32_t>(below(3))};
            queue.push(e);
            model.insert(key_of(e));
        } else {
            REQUIRE(key_of(queue.next()) == *model.begin());
            queue.pop();
            model.erase(model.begin());
        }
        REQUIRE(queue.size() == model.size());
    }
}
