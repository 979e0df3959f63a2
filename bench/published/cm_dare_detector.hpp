// SPDX-License-Identifier: BSL-1.0
// The estimator `bottleneck` on simulated jobs with parameter servers, and an elastic policy that reads it: it adds
// workers until their servers are saturated. Source: as cm_dare.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/estimators/bottleneck.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/sim/parametric_model.hpp>
#include <ration/sim/rng.hpp>

#include "cm_dare.hpp"

namespace published::cm_dare {

/// A job with parameter servers whose speed varies, by 5 % from one period of 30 s of one worker to the next. The first
/// 5 minutes have 0.6 of the speed.
class varying_speed final : public sim::job_model {
    sim::parameter_server_model servers_;
    double period_;  // in steps
    sim::rng noise_;

public:
    varying_speed(double of_one, double cap, std::uint64_t seed)
        : servers_({of_one}, cap), period_(30 * of_one), noise_(seed) {}

    [[nodiscard]] sim::speed_segment at(sim::job_description const& job, sim::allocation const& held,
                                        double step) const noexcept override {
        double const periods = std::floor(step / period_ + 1e-6);  // the end of one is the begin of the next
        auto const n = static_cast<std::uint64_t>(periods);
        double const variation = sim::exact::exp(0.05 * noise_.normal(n));
        return {.steps_per_second = servers_.at(job, held, step).steps_per_second * variation * (n < 10 ? 0.6 : 1),
                .until = (periods + 1) * period_};
    }
    void show(sim::job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
              sim::scaling const& out) const noexcept override {
        servers_.show(job, step, type, devices_per_node, out);
    }
};

/// The columns of a host that a simulation does not have.
struct simulated_workers {
    using estimator_concept = estimator_tag;
    using inputs = columns<in<std::int64_t, "jobs/held.gpu">>;
    using outputs = columns<out<std::int64_t, "jobs/workers">, out<std::int64_t, "jobs/batch.reported">,
                            out<double, "jobs/throttled.cpu">>;
    static constexpr meta about{.id = "org.example.simulated-workers", .version = "1.0.0"};

    void estimate(tick<inputs> const& t, estimates<outputs> const& to) const noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            to.get<"jobs/workers">()[row] = t.get<"jobs/held.gpu">()[row];
            to.get<"jobs/batch.reported">()[row] = 0;  // one worker makes a step
            to.get<"jobs/throttled.cpu">()[row] = 0;
        }
    }
};

/// The outcome of a job: the workers with which it was flagged (0 = never), and those that it kept.
struct growth {
    std::int64_t flagged = 0, kept = 0;
};

/// Gives one job a further worker every 40 ticks, which are enough for two windows and the slow start. Takes one back
/// at the first `exchange`, and leaves it so.
class grow_until_exchange {
    growth* seen_;
    int ticks_ = 0;

public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "jobs/max.gpu">,
                           in<std::uint32_t, "jobs/bottleneck">>;
    static constexpr meta about{.id = "org.example.grow-until-exchange", .version = "1.0.0"};

    explicit grow_until_exchange(growth& seen) noexcept : seen_(&seen) {}

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.jobs() == 0) return status::ok;
        std::int64_t workers = std::max<std::int64_t>(1, t.get<"jobs/held.gpu">()[0]);
        bool const waits =
            t.get<"jobs/bottleneck">()[0] == static_cast<std::uint32_t>(estimators::bottleneck_kind::exchange);
        if (waits && seen_->flagged == 0)
            seen_->flagged = workers--;
        else if (++ticks_ % 40 == 0 && seen_->flagged == 0)
            workers = std::min(workers + 1, t.get<"jobs/max.gpu">()[0]);
        seen_->kept = workers;
        return out.set(0, 0, resource_id::gpu, workers) ? status::ok : status::capacity;
    }
};

[[nodiscard]] inline growth grow(double of_one, double cap, std::uint64_t seed) {
    sim::workload w;
    w.models.push_back(std::make_shared<varying_speed>(of_one, cap, seed));
    w.jobs.push_back({.request = 1, .least = 1, .most = most_workers, .length = 1e12});
    constexpr std::array<std::string_view, 1> unfilled{"jobs/bottleneck"};
    estimator_adapter<simulated_workers> workers;
    estimator_adapter<estimators::bottleneck> bottleneck;
    std::array<any_estimator*, 2> const all{&workers, &bottleneck};
    estimator_stage stage({.available = all, .unfilled = unfilled});
    growth seen;
    static_cast<void>(simulate(w, nodes_of(1, most_workers), grow_until_exchange(seen),
                               {.limit = seconds(60 * 40 * (most_workers + 1.0)), .estimators = &stage}));
    return seen;
}

/// The part of the sum of `workers` that the servers of the curve reach.
[[nodiscard]] inline double part_reached(curve const& c, double cap, std::int64_t workers) noexcept {
    return std::min(1.0, cap / (c.median[0] * static_cast<double>(workers)));
}

/// The fewest workers of which the servers reach less than this part; 0 = never.
[[nodiscard]] inline std::int64_t first_below(curve const& c, double cap, double part) noexcept {
    for (std::int64_t w = 1; w <= static_cast<std::int64_t>(most_workers); ++w)
        if (part_reached(c, cap, w) < part) return w;
    return 0;
}

/// Five runs of a curve. A part within 0.03 of the limit may be flagged or not.
struct flagged_runs {
    std::vector<std::int64_t> workers;  ///< at which each was flagged; 0 = never
    bool are_right = true;
    double speed = 1;  ///< the least with the kept workers, of that with all

    [[nodiscard]] bool is_any() const noexcept {
        return std::any_of(workers.begin(), workers.end(), [](std::int64_t w) { return w != 0; });
    }
    /// "6, 6, 5, 6, 6"; equal ones once.
    [[nodiscard]] std::string text() const {
        auto const word = [](std::int64_t w) { return w == 0 ? "never" : std::to_string(w); };
        if (std::count(workers.begin(), workers.end(), workers[0]) == std::ssize(workers)) return word(workers[0]);
        std::string all;
        for (auto const w : workers) all += (all.empty() ? "" : ", ") + word(w);
        return all;
    }
};
[[nodiscard]] inline flagged_runs flag(curve const& c, double cap) {
    flagged_runs all;
    auto const earliest = first_below(c, cap, saturated_below + 0.03),
               latest = first_below(c, cap, saturated_below - 0.03);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        auto const one = grow(c.median[0], cap, seed);
        all.workers.push_back(one.flagged);
        bool const is_early = one.flagged != 0 && (earliest == 0 || one.flagged < earliest);
        bool const is_late = latest != 0 && (one.flagged == 0 || one.flagged > latest);
        all.are_right = all.are_right && !is_early && !is_late;
        double const of_all = std::min(cap, c.median[0] * static_cast<double>(most_workers));
        all.speed = std::min(all.speed, std::min(cap, c.median[0] * static_cast<double>(one.kept)) / of_all);
    }
    return all;
}

inline void estimator_table(std::vector<curve> const& curves, findings& found) {
    found.print(
        "\n| simulated servers, 5 seeds | below 0.9 of the sum from | flagged by `bottleneck` at w | speed with one worker less : with 8 | without a cap |\n"
        "|---|---|---|---|---|\n");
    bool are_right = true, is_unsaturated_flagged = false;
    for (auto const& c : curves) {
        double const cap = cap_of(c.median);
        auto const with = flag(c, cap), without = flag(c, no_cap);
        auto const from = first_below(c, cap, saturated_below);
        found.print("| %s | %s | %s | %.2f | %s |\n", c.name().c_str(),
                    from == 0 ? "never" : std::to_string(from).c_str(), with.text().c_str(), with.speed,
                    without.text().c_str());
        are_right = are_right && with.are_right;
        is_unsaturated_flagged = is_unsaturated_flagged || without.is_any();
    }
    found.expect(
        are_right,
        "`bottleneck` flags saturated servers at the first number of workers below 0.9 of the sum, within 0.03, "
        "in each of 5 runs");
    found.expect(!is_unsaturated_flagged, "control: it never flags servers without a cap");
}

}  // namespace published::cm_dare
