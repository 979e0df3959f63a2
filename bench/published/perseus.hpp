// SPDX-License-Identifier: BSL-1.0
// Perseus: two tenants' inference servers on one device, beside a device for each.
// Source: M. LeMay, S. Li, T. Guo, "Perseus: Characterizing Performance and Cost of Multi-Tenant Serving for CNN
// Models", IC2E 2020. A queueing model explains the gain: a request occupies the device for u seconds, and its tenant's
// host for h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ration/host/rng_sequence.hpp>

#include "findings.hpp"
#include "measure/load_ramp.hpp"

namespace published {

struct perseus_scale {
    std::size_t requests = 40000;  ///< of one pass
    double host_ratio = 0.9;       ///< u / h with a gain
    double control_ratio = 1;      ///< u / h without one; a smaller one breaks the control
    std::uint64_t seeds = 5;
};

namespace perseus {

using ration::program::load_pass;
using ration::program::load_ramp;

constexpr double host_time = 1;           // of a request, in the time unit of the model
constexpr double limit = 60 * host_time;  // of the 95th percentile of the latency

/// A tenant's server: its host takes one request at a time, and then the device that all tenants share.
struct tenant {
    double rate = 0;  ///< Poisson arrivals
    std::vector<double> arrivals{}, at_device{};
};

/// The times at which a tenant's requests arrive, and at which they need the device.
[[nodiscard]] inline tenant tenant_at(double rate, std::size_t requests, std::uint64_t seed) {
    tenant out{.rate = rate};
    ration::rng_sequence random(seed);
    double now = 0, host_free = 0;
    for (std::size_t i = 0; i < requests; ++i) {
        now -= std::log((static_cast<double>(random.below(1U << 30)) + 0.5) / (1U << 30)) / rate;
        host_free = std::max(now, host_free) + host_time;
        out.arrivals.push_back(now);
        out.at_device.push_back(host_free);
    }
    return out;
}

/// One pass of a tenant beside another one, on a device that takes `device_time` for each request.
[[nodiscard]] inline load_pass pass_beside(tenant const& ramped, tenant const& other, double device_time) {
    std::vector<double> latencies, lateness(ramped.arrivals.size());
    double device_free = 0, end = 0;
    std::size_t theirs = 0;
    for (std::size_t i = 0; i < ramped.arrivals.size(); ++i) {
        for (; theirs < other.at_device.size() && other.at_device[theirs] < ramped.at_device[i]; ++theirs)
            device_free = std::max(device_free, other.at_device[theirs]) + device_time;
        end = device_free = std::max(device_free, ramped.at_device[i]) + device_time;
        latencies.push_back(end - ramped.arrivals[i]);
    }
    return ration::program::pass_of(ramped.rate, end - ramped.arrivals.front(), latencies, lateness);
}

/// The rate that one tenant sustains while the other one has a fixed rate; 0: nothing.
[[nodiscard]] inline double sustained(double other_rate, double device_time, perseus_scale const& scale,
                                      std::uint64_t seed) {
    load_ramp ramp({.first = 0.3 / host_time, .limit = limit, .precision = 0.002});
    while (auto const rate = ramp.next()) {
        // The other tenant's requests last as long as this one's
        auto const others = static_cast<std::size_t>(other_rate / *rate * 1.2 * static_cast<double>(scale.requests));
        auto const other = other_rate > 0 ? tenant_at(other_rate, others, seed + 1000) : tenant{};
        ramp.add(pass_beside(tenant_at(*rate, scale.requests, seed), other, device_time));
    }
    return ramp.best() != nullptr ? ramp.best()->offered : 0;
}

/// The part of two dedicated devices that one shared device saves, at each share of the fixed tenant.
struct frontier {
    double alone = 0;
    std::vector<double> together{}, saving{};
};
constexpr double shares[] = {0, 0.25, 0.5, 0.75};

[[nodiscard]] inline frontier measure_frontier(double ratio, perseus_scale const& scale, std::uint64_t seed) {
    double const device_time = ratio * host_time;
    frontier out{.alone = sustained(0, device_time, scale, seed)};
    for (double const share : shares) {
        double const with = sustained(share * out.alone, device_time, scale, seed);
        out.together.push_back(with / out.alone);
        out.saving.push_back(1 - 1 / (share + with / out.alone));
    }
    return out;
}

/// Medians over the seeds, by share.
[[nodiscard]] inline frontier median_frontier(double ratio, perseus_scale const& scale) {
    std::vector<frontier> all;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) all.push_back(measure_frontier(ratio, scale, seed));
    auto const over = [&](auto figure) {
        std::vector<double> values;
        for (auto const& one : all) values.push_back(figure(one));
        return over_seeds(std::move(values)).median;
    };
    frontier out{.alone = over([](frontier const& f) { return f.alone; })};
    for (std::size_t i = 0; i < std::size(shares); ++i) {
        out.together.push_back(over([i](frontier const& f) { return f.together[i]; }));
        out.saving.push_back(over([i](frontier const& f) { return f.saving[i]; }));
    }
    return out;
}

/// The part of requests of an M/D/1 server that wait for at most `t`. Source: C. D. Crommelin, "Delay probability
/// formulae when the holding times are constant", Post Office Electrical Engineers' Journal 25, 1932.
[[nodiscard]] inline double md1_waits_at_most(double t, double load) {
    long double sum = 0;
    for (int k = 0; k <= static_cast<int>(t); ++k) {
        long double const x = load * (static_cast<long double>(k) - t);
        long double term = std::exp(-x);
        for (int i = 1; i <= k; ++i) term *= x / i;
        sum += term;
    }
    return static_cast<double>((1 - load) * sum);
}

/// The load at which the 95th percentile of the latency of an M/D/1 server with service time 1 is `latency`.
[[nodiscard]] inline double md1_load_at(double latency) {
    double low = 0.01, high = 0.999;
    while (high - low > 1e-6) {
        double const load = (low + high) / 2;
        (md1_waits_at_most(latency - 1, load) >= 0.95 ? low : high) = load;
    }
    return low;
}

/// The ramp on one host, whose rate is known.
inline void known_server(findings& found, perseus_scale const& scale) {
    constexpr double latency = 8;
    std::vector<double> rates;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
        load_ramp ramp({.first = 0.3, .limit = latency, .precision = 0.002});
        while (auto const rate = ramp.next()) ramp.add(pass_beside(tenant_at(*rate, scale.requests, seed), {}, 0));
        rates.push_back(ramp.best() != nullptr ? ramp.best()->offered : 0);
    }
    over_seeds const measured(rates);
    double const expected = md1_load_at(latency);
    found.print("M/D/1, p95 of %.0f service times: at load %s, by formula %.3f\n\n", latency, measured.text(3).c_str(),
                expected);
    found.expect(std::abs(measured.median / expected - 1) <= 0.05,
                 "the ramp finds the rate of an M/D/1 server within 5 %");
    found.expect(measured.most / measured.least <= 1.06, "its repetitions are within 3 % of their middle");
}

inline void print_row(findings& found, std::string const& name, frontier const& of) {
    found.print("| %s |", name.c_str());
    for (std::size_t i = 0; i < std::size(shares); ++i)
        found.print(" %.2f, %.1f %% |", of.together[i], 100 * of.saving[i]);
    found.print("\n");
}

[[nodiscard]] inline bool is_concave(std::vector<double> const& together) noexcept {
    constexpr double noise = 0.02;
    for (std::size_t i = 1; i + 1 < together.size(); ++i)
        if (2 * together[i] < together[i - 1] + together[i + 1] - noise) return false;
    return true;
}

inline void frontiers(findings& found, perseus_scale const& scale) {
    auto const gain = median_frontier(scale.host_ratio, scale), control = median_frontier(scale.control_ratio, scale);
    found.print("| device : host time | other tenant 0 | 25 %% | 50 %% | 75 %% |\n|---|--:|--:|--:|--:|\n");
    print_row(found, "0.9", gain);
    print_row(found, "1, control", control);
    auto const middle = gain.saving[2];
    found.expect(is_concave(gain.together), "the frontier is concave");
    found.expect(middle >= 0.08 && middle <= 0.16, "half and half, one device saves 8 to 16 % of two");
    found.expect(std::abs(gain.saving.front()) < 0.01, "alone a tenant saves nothing");
    bool is_equal = true;
    for (double const saving : control.saving) is_equal = is_equal && std::abs(saving) < 0.01;
    found.expect(is_equal, "control: where one tenant fills the device, sharing it saves less than 1 %");
}

}  // namespace perseus

[[nodiscard]] inline findings perseus_scenario(perseus_scale const& scale = {}) {
    findings found;
    perseus::known_server(found, scale);
    perseus::frontiers(found, scale);
    return found;
}

}  // namespace published
