// SPDX-License-Identifier: BSL-1.0
// Gives the first job as many millicores as it has counted ticks. Counts in its state, so that a lost state shows.
#pragma once

#include <ration/adapt/adapt.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>

namespace test_policies {

struct counter_parameters {
    std::int64_t step = 1;
    bool stop = false;
    static constexpr ration::parameter_note notes[] = {
        {.name = "step", .meaning = "added at each tick, 1 to 100", .least = 1, .most = 100}};
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return stop ? "stop is only there to be refused" : "";
    }
};

struct counter {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/id">>;
    using parameters = counter_parameters;
    static constexpr std::string_view reasons[] = {"", "counted ticks"};
    static constexpr ration::meta about{.id = "org.example.test-counter",
                                        .version = "2.1.0",
                                        .summary = "counts ticks",
                                        .reasons = reasons,
                                        .vendor = "the tests",
                                        .license = "BSL-1.0"};

    explicit counter(counter_parameters const& p) noexcept : step_(p.step) {}

    [[nodiscard]] ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        count_ += step_;
        return t.jobs() == 0 || out.set(0, 0, ration::resource_id::cpu, count_, 1) ? ration::status::ok
                                                                                   : ration::status::capacity;
    }
    void on_events(std::span<ration::event const> events) noexcept {
        for (auto const& e : events) count_ += e.kind == ration::event_kind::state_lost ? 1000 : 0;
    }
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        ration::state_writer out(space);
        out.put(count_);
        return out.needed();
    }
    [[nodiscard]] ration::status load(std::span<std::byte const> saved) noexcept {
        ration::state_reader in(saved);
        std::int64_t count = 0;
        if (!in.get(count) || !in.finished() || count < 0) return ration::status::state;
        count_ = count;
        return ration::status::ok;
    }

private:
    std::int64_t step_, count_ = 0;
};

}  // namespace test_policies

BOOST_HANA_ADAPT_STRUCT(test_policies::counter_parameters, step, stop);
