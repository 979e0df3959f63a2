// SPDX-License-Identifier: BSL-1.0
// The events that policies receive between ticks, and the tick by which they have them.
#include <cstdint>
#include <span>
#include <vector>

#include <ration/policies/none.hpp>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::event;
using ration::event_kind;

namespace {

/// Keeps the events that it receives, and their number at the last decision.
class listener final : public ration::any_policy {
public:
    std::vector<event> received;
    std::size_t answered_probe = 0;

    [[nodiscard]] ration::meta const& about() const noexcept override { return ration::policies::none::about; }
    [[nodiscard]] ration::result<void> bind(std::span<ration::column_info const>,
                                            ration::limits const&) noexcept override {
        return {};
    }
    [[nodiscard]] ration::status decide(ration::tick_data const&, ration::grants&) noexcept override {
        answered_probe = received.size();
        return ration::status::ok;
    }
    void on_events(std::span<event const> events) noexcept override {
        received.insert(received.end(), events.begin(), events.end());
    }
};

struct reported {
    event_kind kind;
    std::uint64_t id;
    std::uint32_t row;
    friend bool operator==(reported const&, reported const&) = default;
};

constexpr std::uint32_t nowhere = 0xFFFFFFFF;

struct listening_rig {
    host on{3};
    ration::fake::backend backend{{resource_id::cpu, resource_id::memory, resource_id::gpu}};
    listener policy, fallback;
    ration::engine<ration::fake::backend> engine{
        backend, policy, fallback, on.store, on.columns, ration::standard_resources, {}};

    listening_rig() { must(engine.bind({.jobs = 4, .nodes = 1})); }

    /// The events that the policy received by its decision at this second.
    std::vector<reported> received_at(double second) {
        policy.received.clear();
        fallback.received.clear();
        engine.tick(ration::seconds(second));
        CHECK(policy.answered_probe == policy.received.size());
        CHECK(fallback.received.size() == policy.received.size());
        std::vector<reported> all;
        for (auto const& e : policy.received) {
            CHECK(e.at == ration::seconds(second));
            all.push_back({e.kind, e.id, e.row});
        }
        return all;
    }
};

}  // namespace

TEST_CASE("engine: policies hear of each job that comes, changes and ends, once and before they decide",
          "[engine][events]") {
    listening_rig r;
    r.on.set_state(2, job_state::queued);
    CHECK(r.received_at(1) == std::vector<reported>{{event_kind::job_arrived, 1, nowhere},
                                                    {event_kind::job_arrived, 2, nowhere},
                                                    {event_kind::job_arrived, 3, nowhere}});
    CHECK(r.received_at(2).empty());

    r.on.set_state(0, job_state::done);
    r.on.set_state(1, job_state::failed);
    r.on.set_state(2, job_state::running);
    CHECK(r.received_at(3) == std::vector<reported>{{event_kind::job_finished, 1, 0},
                                                    {event_kind::job_failed, 2, 1},
                                                    {event_kind::job_changed, 3, 2}});
    CHECK(r.received_at(4).empty());

    r.on.store.erase_row(table_id::jobs, 0);  // ended long ago
    CHECK(r.received_at(5).empty());
    must(r.on.store.resize(table_id::jobs, 3));
    r.on.store[r.on.columns.id][2] = 9;
    CHECK(r.received_at(6) == std::vector<reported>{{event_kind::job_arrived, 9, nowhere}});
}

TEST_CASE("engine: a job that leaves the table while it runs has finished", "[engine][events]") {
    listening_rig r;
    static_cast<void>(r.received_at(1));
    r.on.store.erase_row(table_id::jobs, 2);
    r.on.store.erase_row(table_id::jobs, 0);
    CHECK(r.received_at(2) ==
          std::vector<reported>{{event_kind::job_finished, 1, 0}, {event_kind::job_finished, 3, 2}});
    must(r.on.store.resize(table_id::jobs, 0));
    CHECK(r.received_at(3) == std::vector<reported>{{event_kind::job_finished, 2, 0}});
}
