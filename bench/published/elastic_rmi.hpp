// SPDX-License-Identifier: BSL-1.0
// ElasticRMI: a class that chooses the size of its pool from its own state, beside one that is scaled by its CPU.
// Source: K. R. Jayaram, "Elastic Remote Methods", Middleware 2013.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <ration/policies/wants.hpp>

#include "elastic_rmi_service.hpp"
#include "scene.hpp"

namespace published {

struct elastic_rmi_scale {
    std::uint64_t seeds = 5;
    /// The CPU above which the hook of the control adds a device; any other value than the scaler's breaks the control.
    double control_threshold = 0.9;
};

namespace elastic_rmi {

/// Each device serves 32 requests a second.
[[nodiscard]] inline double linear(std::int64_t devices) noexcept { return 32 * static_cast<double>(devices); }
/// All requests need the lock of one key, so that more than seven devices serve fewer of them.
[[nodiscard]] inline double hot_key(std::int64_t devices) noexcept {
    auto const n = static_cast<double>(devices);
    return 100 * n / (1 + 0.05 * (n - 1) + 0.02 * n * (n - 1));
}

[[nodiscard]] inline double abrupt(double at) noexcept { return at >= 1200 && at < 2400 ? 300 : 60; }
[[nodiscard]] inline double cyclic(double at) noexcept {
    return 180 - 120 * std::cos(2 * std::numbers::pi * at / 1200);
}
[[nodiscard]] inline double constant(double) noexcept { return 70; }
[[nodiscard]] inline double overload(double) noexcept { return 340; }

/// Theirs without a hook: one more above 90 % of the CPU, one fewer below 60 %.
struct thresholds {
    double more = 0.9, fewer = 0.6;
};
[[nodiscard]] inline std::int64_t by_cpu(load const& of, thresholds const& at = {}) noexcept {
    return (of.cpu > at.more ? 1 : 0) - (of.cpu < at.fewer ? 1 : 0);
}
/// The hook of a service with a known rate of one device: enough for the arrivals, and for the queue within one
/// interval.
[[nodiscard]] inline std::int64_t by_queue(load const& of) noexcept {
    return static_cast<std::int64_t>(std::ceil((of.arrivals + of.queue / of.interval) / linear(1))) - of.size;
}
/// The same for a service that expects its arrivals to change once more by as much as they last did. It keeps a reserve
/// of 3 %, because a service that is as large as its arrivals keeps its queue.
class by_trend {
    double last_ = -1;

public:
    [[nodiscard]] std::int64_t operator()(load of) noexcept {
        double const before = std::exchange(last_, of.arrivals);
        if (before >= 0) of.arrivals += of.arrivals - before;
        of.arrivals *= 1.03;
        return by_queue(of);
    }
};
/// The hook of a service that measures whether its last change helped: it repeats the change
/// while that serves 1 % more, reverses it after 1 % less, and stays otherwise.
class by_own_rate {
    double last_ = 0;
    std::int64_t step_ = 1;

public:
    [[nodiscard]] std::int64_t operator()(load const& of) noexcept {
        double const before = std::exchange(last_, of.served);
        if (of.queue <= 0 || std::abs(of.served - before) <= 0.01 * before) return 0;
        if (of.served < before) step_ = -step_;
        return step_;
    }
};

/// The service as a job that requests its devices.
class service_model final : public sim::job_model {
    service& of_;

public:
    explicit service_model(service& of) noexcept : of_(of) {}
    [[nodiscard]] sim::speed_segment at(sim::job_description const&, sim::allocation const& held,
                                        double) const noexcept override {
        return {.steps_per_second = held.devices > 0 ? 1.0 : 0.0};
    }
    void show(sim::job_description const&, double, std::uint32_t, std::int64_t,
              sim::scaling const&) const noexcept override {}
    [[nodiscard]] bool makes_requests() const noexcept override { return true; }
    [[nodiscard]] std::int64_t requested(sim::job_description const&, double, nanoseconds now) const noexcept override {
        return of_.wanted(now);
    }
};

/// An autoscaler outside of the application, which sets the size itself. It asks no policy and reads no request.
class outside_scaler {
    service* of_;

public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.gpu">>;
    static constexpr std::string_view reasons[] = {"", "the autoscaler's size"};
    static constexpr meta about{
        .id = "org.example.outside-scaler", .version = "1.0.0", .summary = "", .reasons = reasons};

    explicit outside_scaler(service& of) noexcept : of_(&of) {}
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        std::int64_t const size = of_->wanted(t.now());
        bool const runs = t.jobs() > 0 && is_active(static_cast<job_state>(t.get<"jobs/state">()[0]));
        if (!runs || size == t.get<"jobs/held.gpu">()[0]) return status::ok;
        return out.set(0, 0, resource_id::gpu, size, 1) ? status::ok : status::capacity;
    }
};

/// One run on twelve devices that lasts this number of seconds.
template <Policy P>
void run(service& of, double duration, P const& rule) {
    sim::workload jobs;
    jobs.models.push_back(std::make_shared<service_model>(of));
    jobs.tenants = {"service"};
    jobs.jobs.push_back({.request = most, .least = least, .most = most, .length = duration});
    static_cast<void>(simulate(jobs, nodes_of(1, most), rule, {.interval = seconds(10), .observer = &of}));
}
/// As the hook of a job under the policy `wants`.
[[nodiscard]] inline samples with_hook(service_options const& options, double duration, hook change) {
    service of(options, std::move(change));
    run(of, duration, policies::wants());
    return of.seen();
}
[[nodiscard]] inline samples scaled_outside(service_options const& options, double duration,
                                            thresholds const& at = {}) {
    service of(options, [&](load const& last) { return by_cpu(last, at); });
    run(of, duration, outside_scaler(of));
    return of.seen();
}

/// SPEC's agility and its parts, in devices, and the wait of 95 % of the seconds.
struct figures {
    double excess = 0, shortage = 0, wait = 0;
    [[nodiscard]] double agility() const noexcept { return excess + shortage; }
};
[[nodiscard]] inline figures figures_of(samples const& all) {
    figures of;
    auto const count = static_cast<double>(all.provided.size());
    for (std::size_t i = 0; i < all.provided.size(); ++i) {
        auto const over = static_cast<double>(all.provided[i] - all.needed[i]);
        (over > 0 ? of.excess : of.shortage) += std::abs(over) / count;
    }
    auto waits = all.wait;
    std::ranges::sort(waits);
    of.wait = waits[waits.size() * 95 / 100];
    return of;
}

/// All seeds of one rule under one load.
struct rule_runs {
    std::vector<double> agility, excess, shortage, wait;

    void add(figures const& of) {
        agility.push_back(of.agility());
        excess.push_back(of.excess);
        shortage.push_back(of.shortage);
        wait.push_back(of.wait);
    }
    void print(findings& found, char const* arrivals, double provisioning, char const* rule) const {
        found.print("| %s | %.0f | %s | %s | %s | %s | %s |\n", arrivals, provisioning, rule,
                    over_seeds(agility).text(2).c_str(), over_seeds(excess).text(2).c_str(),
                    over_seeds(shortage).text(2).c_str(), over_seeds(wait).text(1).c_str());
    }
};
/// The largest ratio of two rules on one seed.
[[nodiscard]] inline double worst_ratio(rule_runs const& of, rule_runs const& to) {
    double worst = 0;
    for (std::size_t i = 0; i < of.agility.size(); ++i) worst = std::max(worst, of.agility[i] / to.agility[i]);
    return worst;
}

struct compared {
    rule_runs queue, cpu, fixed;
};
[[nodiscard]] inline compared compare(arrival_curve arrivals, double provisioning, double duration,
                                      std::uint64_t seeds) {
    compared all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        service_options const of{linear, arrivals, provisioning, seed};
        all.queue.add(figures_of(with_hook(of, duration, by_queue)));
        all.cpu.add(figures_of(scaled_outside(of, duration)));
        all.fixed.add(figures_of(with_hook(of, duration, [](load const&) { return most; })));
    }
    return all;
}

/// Two loads that change. The claims hold for each seed.
inline void changing_loads(findings& found, std::uint64_t seeds) {
    found.print("| load | provisioning, s | size by | agility | excess | shortage | wait, s |\n");
    found.print("|---|--:|---|--:|--:|--:|--:|\n");
    struct {
        char const* name;
        arrival_curve arrivals;
        double duration;
    } const loads[] = {{"abrupt", abrupt, 3600}, {"cyclic", cyclic, 4800}};
    for (auto const& l : loads)
        for (double const provisioning : {30.0, 180.0}) {
            auto const all = compare(l.arrivals, provisioning, l.duration, seeds);
            all.queue.print(found, l.name, provisioning, "hook on the queue");
            all.cpu.print(found, l.name, provisioning, "CPU thresholds");
            all.fixed.print(found, l.name, provisioning, "always the maximum");
            std::string const at =
                std::string(l.name) + " load, " + std::to_string(static_cast<int>(provisioning)) + " s: ";
            if (provisioning == 30)
                found.expect(worst_ratio(all.queue, all.cpu) <= 0.5,
                             at + "the hook's agility is at most half of the thresholds'");
            found.expect(worst_ratio(all.cpu, all.fixed) <= 1, at + "the thresholds' is at most that of the maximum");
        }
}

/// Of many thresholds those with the least agility that let no request wait longer; if all do, those that wait least.
[[nodiscard]] inline figures best_thresholds(service_options const& of, double duration, double wait) {
    figures best{.wait = 1e9};
    for (int const more : {60, 65, 70, 75, 80, 85, 90, 95, 98})
        for (int band = 5; band <= 30; band += 5) {
            auto const one = figures_of(scaled_outside(of, duration, {more / 100.0, (more - band) / 100.0}));
            bool const is_in = one.wait <= wait, was_in = best.wait <= wait;
            if (is_in != was_in ? is_in : is_in ? one.agility() < best.agility() : one.wait < best.wait) best = one;
        }
    return best;
}

/// A load on ranks that a fork server starts within 2 s (bench/run/results.md).
struct warm_load {
    char const* name;
    arrival_curve arrivals;
    double duration, interval;
    char const* rule;
    hook change;
    bool is_claimed;
};
/// Beside the hook the usual thresholds, and the best ones that let no request wait longer.
inline void warm_ranks(findings& found, warm_load const& l, std::uint64_t seeds) {
    rule_runs own, theirs, best;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        service_options const of{linear, l.arrivals, 2, seed, l.interval};
        own.add(figures_of(with_hook(of, l.duration, l.change)));
        theirs.add(figures_of(scaled_outside(of, l.duration)));
        best.add(best_thresholds(of, l.duration, own.wait.back()));
    }
    own.print(found, l.name, l.interval, l.rule);
    theirs.print(found, l.name, l.interval, "CPU thresholds");
    best.print(found, l.name, l.interval, "the best CPU thresholds that wait at most as long");
    if (!l.is_claimed) return;
    std::string const at = std::string("warm ranks, ") + l.name + " load: ";
    bool const waits_no_longer = over_seeds(own.wait).median <= over_seeds(theirs.wait).median;
    found.expect(
        worst_ratio(own, theirs) <= 0.25 && waits_no_longer,
        at + "the hook's agility is at most a quarter of the thresholds', and its median wait is at most as long");
    found.expect(worst_ratio(own, best) <= 0.25,
                 at + "it is at most a quarter of that of the best thresholds that wait at most as long");
}
inline void warm_loads(findings& found, std::uint64_t seeds) {
    found.print("\n| load, provisioning 2 s | interval, s | size by | agility | excess | shortage | wait, s |\n");
    found.print("|---|--:|---|--:|--:|--:|--:|\n");
    constexpr auto queue = "hook on the queue", trend = "hook on the queue and its trend";
    warm_ranks(found, {"abrupt", abrupt, 3600, 60, trend, by_trend{}, true}, seeds);
    warm_ranks(found, {"cyclic", cyclic, 4800, 60, trend, by_trend{}, true}, seeds);
    warm_ranks(found, {"cyclic", cyclic, 4800, 60, queue, by_queue, false}, seeds);
    warm_ranks(found, {"cyclic", cyclic, 4800, 10, queue, by_queue, false}, seeds);
}

/// Requests a second over the last half hour.
[[nodiscard]] inline double served_at_end(samples const& all) {
    double sum = 0;
    for (std::size_t i = all.served.size() - 1800; i < all.served.size(); ++i) sum += all.served[i] / 1800;
    return sum;
}

/// A hot key: the CPU is busy with a lock, and further devices make it worse.
inline void hot_keys(findings& found, std::uint64_t seeds) {
    found.print("\n| hot key, 340 requests/s | devices at the end | served/s |\n|---|--:|--:|\n");
    double worst_hook = 1e9, best_outside = 0;
    bool ends_at_maximum = true;
    std::vector<double> hook_served, outside_served, hook_size, outside_size;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        service_options const of{hot_key, overload, 30, seed};
        auto const own = with_hook(of, 7200, by_own_rate{}), outside = scaled_outside(of, 7200);
        hook_size.push_back(static_cast<double>(own.provided.back()));
        outside_size.push_back(static_cast<double>(outside.provided.back()));
        hook_served.push_back(served_at_end(own));
        outside_served.push_back(served_at_end(outside));
        worst_hook = std::min(worst_hook, hook_served.back());
        best_outside = std::max(best_outside, outside_served.back());
        ends_at_maximum = ends_at_maximum && outside.provided.back() == most;
    }
    auto const row = [&](char const* name, std::vector<double> const& size, std::vector<double> const& served) {
        found.print("| %s | %s | %s |\n", name, over_seeds(size).text(0).c_str(), over_seeds(served).text(1).c_str());
    };
    row("hook on its own rate", hook_size, hook_served);
    row("CPU thresholds", outside_size, outside_served);
    found.print("| best | 7 | %.1f |\n", hot_key(7));
    found.expect(ends_at_maximum, "hot key: the thresholds end at the maximum");
    found.expect(best_outside <= 0.9 * hot_key(7), "hot key: they serve at least 10 % less than the best size");
    found.expect(worst_hook >= 0.98 * hot_key(7), "hot key: the hook serves at most 2 % less than the best size");
}

/// Where a hook has nothing to gain.
inline void controls(findings& found, elastic_rmi_scale const& scale) {
    bool are_alike = true, are_equal = true;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
        service_options const steady{linear, constant, 30, seed};
        auto const own = with_hook(steady, 3600, by_queue), outside = scaled_outside(steady, 3600);
        for (std::size_t i = own.provided.size() - 1800; i < own.provided.size(); ++i)
            are_alike = are_alike && own.provided[i] == 3 && outside.provided[i] == 3;
        for (auto const arrivals : {abrupt, cyclic}) {
            service_options const of{linear, arrivals, 30, seed};
            auto const as_thresholds = [&](load const& last) {
                return by_cpu(last, {.more = scale.control_threshold});
            };
            auto const same = with_hook(of, 3600, as_thresholds), scaled = scaled_outside(of, 3600);
            are_equal = are_equal && same.provided == scaled.provided && same.wait == scaled.wait;
        }
    }
    found.expect(are_alike, "control: under a constant load both have the same size once it has settled");
    found.expect(are_equal, "control: a hook that answers as the thresholds do gives their run, bit for bit");
}

}  // namespace elastic_rmi

[[nodiscard]] inline findings elastic_rmi_scenario(elastic_rmi_scale const& scale = {}) {
    findings found;
    elastic_rmi::changing_loads(found, scale.seeds);
    elastic_rmi::warm_loads(found, scale.seeds);
    elastic_rmi::hot_keys(found, scale.seeds);
    elastic_rmi::controls(found, scale);
    return found;
}

}  // namespace published
