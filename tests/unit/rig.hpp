// SPDX-License-Identifier: BSL-1.0
// An engine on the fake backend, asked by policies whose answers a test writes down.
#pragma once

#include <span>
#include <vector>

#include <ration/fake/backend.hpp>
#include <ration/host/engine.hpp>

#include "host.hpp"

namespace unit {

/// Answers with the grants in `answer` and the status in `reports`.
class scripted final : public ration::any_policy {
public:
    std::vector<ration::grant> answer;
    ration::status reports = ration::status::ok;
    bool binds = true, reads_all = true;
    std::vector<ration::tick_data> asked;

    [[nodiscard]] ration::meta const& about() const noexcept override {
        static constexpr ration::meta m{.id = "org.example.scripted", .version = "1.0.0"};
        return m;
    }
    [[nodiscard]] ration::result<void> bind(std::span<ration::column_info const>,
                                            ration::limits const&) noexcept override {
        if (!binds)
            return ration::error{.code = ration::errc::not_found, .operation = "bind column", .subject = "jobs/rare"};
        return {};
    }
    [[nodiscard]] bool reads(std::string_view) const noexcept override { return reads_all; }
    [[nodiscard]] ration::status decide(ration::tick_data const& t, ration::grants& out) noexcept override {
        asked.push_back(t);
        for (auto const& g : answer)
            if (!out.add(g)) return reports;
        return reports;
    }
};

struct rig {
    host on;
    ration::fake::backend backend{{resource_id::cpu, resource_id::memory, resource_id::gpu}};
    scripted policy, fallback;
    ration::engine<ration::fake::backend> engine;

    /// Rules that never make a change wait: those have tests of their own.
    static constexpr ration::settle_rules at_once{.dead_band = 0, .dwell = {}, .grace = {}};

    explicit rig(std::size_t jobs, ration::engine_options const& options = {.settle = at_once})
        : on(jobs), engine(backend, policy, fallback, on.store, on.columns, ration::standard_resources, options) {
        for (std::size_t row = 0; row < jobs; ++row) backend.add(on.id(row));
        must(engine.bind({.jobs = jobs, .nodes = 1}));
    }

    ration::tick_report tick(double second, ration::tick_mode mode = ration::tick_mode::apply) {
        return engine.tick(ration::seconds(second), mode);
    }
    /// The policy gives this answer in the tick at this second.
    ration::tick_report tick_with(std::vector<ration::grant> answer, double second = 1) {
        policy.answer = std::move(answer);
        return tick(second);
    }
    [[nodiscard]] std::int64_t in_effect(std::size_t row, resource_id r = resource_id::cpu) {
        return backend.amount(on.id(row), r).value();
    }
    [[nodiscard]] std::int64_t booked(std::size_t row, resource_id r = resource_id::cpu) const {
        return engine.holdings().amount(on.id(row), 0, r);
    }
    [[nodiscard]] std::int64_t shown(std::size_t row, resource_id r = resource_id::cpu) const {
        return on.store[on.of(r).held][row];
    }
    [[nodiscard]] std::int64_t free(resource_id r = resource_id::cpu) const { return on.store[on.of(r).free][0]; }
};

/// A grant of cpu.
[[nodiscard]] inline ration::grant cpu(std::uint32_t job, std::int64_t amount, std::uint32_t group = 0) {
    return {.job = job, .node = 0, .resource = 0, .reason = 0, .group = group, .amount = amount};
}
[[nodiscard]] inline ration::grant memory(std::uint32_t job, std::int64_t amount, std::uint32_t group = 0) {
    return {.job = job, .node = 0, .resource = 1, .reason = 0, .group = group, .amount = amount};
}

}  // namespace unit
