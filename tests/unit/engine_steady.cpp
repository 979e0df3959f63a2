// SPDX-License-Identifier: BSL-1.0
// The loop allocates nothing once it has seen its largest tick.
#include <array>

#include <ration/host/engine.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/tradl.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::result;

namespace {

/// A backend that itself allocates nothing: one number per job.
class array_backend {
    std::array<std::int64_t, 64> amounts_{};

public:
    using backend_concept = ration::backend_tag;
    struct operation {
        std::size_t job;
        std::int64_t from, to;
    };
    std::int64_t nanoseconds_used = 0;

    [[nodiscard]] std::span<resource_id const> resources() const noexcept {
        static constexpr resource_id all[] = {resource_id::cpu};
        return all;
    }
    [[nodiscard]] result<ration::observation> observe(job_id) noexcept {
        return ration::observation{.cpu_time = {nanoseconds_used}, .memory = {}, .throttled = {}, .processes = 1};
    }
    [[nodiscard]] result<void> plan(ration::setting const& s, ration::plan<operation>& out) noexcept {
        if (amounts_[s.job.value] != s.amount) out.push_back({s.job.value, amounts_[s.job.value], s.amount});
        return {};
    }
    [[nodiscard]] result<void> apply(operation const& o) noexcept {
        amounts_[o.job] = o.to;
        return result<void>();
    }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> undo(operation const& o) noexcept {
        amounts_[o.job] = o.from;
        return result<void>();
    }
    [[nodiscard]] ration::operation_text describe(operation const& o) noexcept {
        return {
            .job = {o.job}, .resource = resource_id::cpu, .when = {}, .subject = {}, .old_value = {}, .new_value = {}};
    }
};
static_assert(ration::Backend<array_backend>);

/// Jobs that reach tiers, leave and come, for `seconds` ticks; returns how many changes there were.
template <class Engine>
std::size_t live(Engine& engine, array_backend& backend, host& on, int from, int seconds) {
    std::size_t changes = 0;
    for (int i = from; i < from + seconds; ++i) {
        backend.nanoseconds_used += 130'000'000;  // eight jobs of 130 millicores: the machine is full
        std::size_t const row = static_cast<std::size_t>(i) % 8;
        on.store[on.columns.tier][row] = (on.store[on.columns.tier][row] + 1) % 3;
        bool const away = i % 5 == 0;
        on.set_state(row, away ? job_state::done : job_state::running);
        if (away) engine.release(on.id(row));
        changes += engine.tick(ration::seconds(i)).changes.size();
    }
    return changes;
}

template <class Policy>
void stays_still() {
    host on(8);
    array_backend backend;
    ration::policy_adapter<Policy> policy;
    ration::policy_adapter<ration::policies::equal_share> fallback;
    ration::engine engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources,
                          {.settle = {.dead_band = 0.01, .dwell = {}, .grace = {}}});
    must(engine.bind({.jobs = 8, .nodes = 1}));
    live(engine, backend, on, 0, 200);
    auto const before = allocations();
    auto const changes = live(engine, backend, on, 200, 1000);
    CHECK(allocations() == before);
    CHECK(changes > 200);  // and not because nothing happened
}

}  // namespace

TEST_CASE("engine: a tick allocates nothing in the steady state", "[engine][steady]") {
    stays_still<ration::policies::tradl>();
    stays_still<ration::policies::equal_share>();
}
