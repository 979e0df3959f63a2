// SPDX-License-Identifier: BSL-1.0
// Sia's worked example, table 1: two jobs, two devices of type A and four of type B. Source: S. Jayaram Subramanya et
// al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include <ration/policies/sia.hpp>

#include "scene.hpp"

namespace published {

struct sia_options {
    bool control_has_b = false;  ///< devices of type B in the control; they break it
};

namespace sia_table {

/// Goodput with 1 A, 2 A, 1 B, 2 B and 4 B. Both rows are scaled to their smallest entry already.
using goodputs = std::array<double, 5>;
inline constexpr goodputs first{1, 1.5, 1.5, 2.5, 3.5}, second{1.2, 2.1, 1, 1.9, 3.6};
inline constexpr std::pair<std::uint32_t, std::int64_t> configurations[] = {{0, 1}, {0, 2}, {1, 1}, {1, 2}, {1, 4}};

class table_model final : public sim::job_model {
    goodputs of_;

public:
    explicit table_model(goodputs const& of) noexcept : of_(of) {}

    [[nodiscard]] double goodput(std::uint32_t type, std::int64_t devices) const noexcept {
        for (std::size_t c = 0; c < of_.size(); ++c)
            if (configurations[c] == std::pair{type, devices}) return of_[c];
        return 0;
    }
    [[nodiscard]] sim::speed_segment at(sim::job_description const&, sim::allocation const& held,
                                        double) const noexcept override {
        return {.steps_per_second = goodput(held.type, held.devices)};
    }
    void show(sim::job_description const&, double, std::uint32_t type, std::int64_t,
              sim::scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = goodput(type, static_cast<std::int64_t>(k));
            out.batch[k] = 0;
        }
    }
};

struct two {
    double a = 0, b = 0;

    [[nodiscard]] double sum() const noexcept { return a + b; }
};

/// The goodputs that the policy's first round gives both jobs. They are short, and done before the second.
[[nodiscard]] inline two chosen(goodputs const& a, goodputs const& b, policies::sia_parameters const& p, bool has_b) {
    constexpr double steps = 10;
    sim::workload w;
    for (auto const& g : {a, b}) {
        w.models.push_back(std::make_shared<table_model>(g));
        w.jobs.push_back(
            {.model = static_cast<std::uint32_t>(w.models.size() - 1), .least = 1, .most = 4, .length = steps});
    }
    sim::cluster machines{.groups = {{.nodes = 1, .devices = 2, .type = 0}}, .types = {"A", "B"}};
    if (has_b) machines.groups.push_back({.nodes = 1, .devices = 4, .type = 1});
    auto const run = simulate(w, machines, policies::sia(p), {.interval = seconds(60)});
    auto const goodput = [&](std::size_t job) { return finished(run, job) < 60 ? steps / finished(run, job) : 0; };
    return {goodput(0), goodput(1)};
}

/// By trying every pair of configurations, none included.
[[nodiscard]] inline two best(goodputs const& a, goodputs const& b, bool has_b) {
    two most;
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::int64_t left[] = {2, has_b ? 4 : 0};
            if (i < a.size()) left[configurations[i].first] -= configurations[i].second;
            if (j < b.size()) left[configurations[j].first] -= configurations[j].second;
            two const now{i < a.size() ? a[i] : 0, j < b.size() ? b[j] : 0};
            if (left[0] >= 0 && left[1] >= 0 && now.sum() > most.sum()) most = now;
        }
    return most;
}

[[nodiscard]] inline bool same(two const& x, two const& y) noexcept {
    return std::fabs(x.a - y.a) < 1e-6 && std::fabs(x.b - y.b) < 1e-6;
}

}  // namespace sia_table

[[nodiscard]] inline findings sia_scenario(sia_options const& options = {}) {
    using namespace sia_table;
    policies::sia_parameters const sums{.at_changes = false, .p = 1, .doubling = false};
    findings found;
    found.print("goodput of J1 and J2 with 2 devices of type A and 4 of type B\n%-44s %6s %6s %6s\n", "", "J1", "J2",
                "sum");
    auto const row = [&](char const* what, two const& t) {
        found.print("%-44s %6.2f %6.2f %6.2f\n", what, t.a, t.b, t.sum());
    };
    two const ours = chosen(first, second, sums, true), turned = chosen(second, first, sums, true),
              only_a = chosen(first, second, sums, options.control_has_b);
    two const fair = chosen(first, second, {.at_changes = false, .doubling = false}, true),
              slow_start = chosen(first, second, {.at_changes = false, .p = 1}, true);
    two const greedy{1.5, 3.6};  // J2 first, which is fastest with 4 B; J1 has what is left
    row("published: J1 4 B, J2 2 A", {3.5, 2.1});
    row("sia, p = 1", ours);
    row("sia, p = 1, the jobs in the other order", {turned.b, turned.a});
    row("sia, p = -0.5", fair);
    row("best of all pairs", best(first, second, true));
    row("each its own best, J2 first", greedy);
    row("sia, p = 1, no device of type B", only_a);
    row("sia, p = 1, doubling: its first round", slow_start);
    found.expect(same(ours, {3.5, 2.1}), "J1 has 4 B and J2 has 2 A, as published, with a sum of 5.6");
    found.expect(same(ours, best(first, second, true)), "no pair of configurations has a larger sum");
    found.expect(same(turned, {2.1, 3.5}), "the order of the jobs does not matter");
    found.expect(same(fair, {3.5, 2.1}), "with the published default p = -0.5 the choice is the same");
    found.expect(greedy.sum() < ours.sum() - 0.4, "control: taken one after the other, J2 first, the sum is 5.1");
    found.expect(same(only_a, best(first, second, false)) && same(only_a, {1, 1.2}),
                 "control: without type B each has one A");
    found.expect(same(slow_start, {1.5, 1.2}),
                 "control: where jobs start at one device, J1 begins on a B and J2 on an A");
    return found;
}

}  // namespace published
