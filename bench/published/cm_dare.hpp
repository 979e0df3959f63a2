// SPDX-License-Identifier: BSL-1.0
// Training with a parameter server on transient servers: speed over the number of workers, a detector of saturated
// servers, lifetimes, and what a lost worker costs. Source: S. Li, R. J. Walls, T. Guo, "Characterizing and Modeling
// Distributed Training with Transient Cloud GPU Servers", ICDCS 2020, arXiv:2004.03072; measured values:
// bench/data/cm-dare, from the authors' repository.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/max_min.hpp>
#include <ration/sim/parametric_model.hpp>

#include "csv.hpp"
#include "scene.hpp"

namespace published {
namespace cm_dare {

inline constexpr std::size_t most_workers = 8;
inline constexpr double saturated_below = 0.9;  ///< of the sum of the workers' speeds: the detector's limit

using speeds = std::array<double, most_workers>;  ///< steps per second; entry w: with w + 1 workers

struct curve {
    std::string gpu, model;
    int servers = 0;
    speeds median{}, mean{};  ///< of the speeds that one run reported; the start-up moves the mean

    [[nodiscard]] std::string name() const { return gpu + ' ' + model + (servers == 1 ? ", 1 server" : ", 2 servers"); }
};

[[nodiscard]] inline std::vector<curve> curves_of(std::string const& data) {
    std::vector<curve> all;
    for (auto const& row : rows_of_csv(data + "/cm-dare/speed_by_workers.csv")) {
        curve c{.gpu = row.at(0), .model = row.at(1), .servers = std::stoi(row.at(2))};
        if (all.empty() || all.back().name() != c.name()) all.push_back(c);
        std::size_t const w = std::stoul(row.at(3)) - 1;
        all.back().mean.at(w) = std::stod(row.at(5));
        all.back().median.at(w) = std::stod(row.at(6));
    }
    return all;
}

/// Part of the sum of the workers' speeds that is reached with w + 1 of them.
[[nodiscard]] inline double part_of_sum(speeds const& s, std::size_t w) noexcept {
    return s[w] / (s[0] * static_cast<double>(w + 1));
}

/// The fewest workers from which on the servers are called saturated; 0 = never.
[[nodiscard]] inline std::size_t saturated_from(speeds const& s) noexcept {
    std::size_t w = most_workers;
    while (w > 0 && part_of_sum(s, w - 1) < saturated_below) --w;
    return w == most_workers ? 0 : w + 1;
}

inline constexpr double no_cap = 1e9;

/// Steps per second that the servers can take: the mean over the numbers of workers with which they are saturated.
[[nodiscard]] inline double cap_of(speeds const& s) noexcept {
    std::size_t const from = saturated_from(s);
    if (from == 0) return no_cap;
    double sum = 0;
    for (std::size_t w = from - 1; w < most_workers; ++w) sum += s[w];
    return sum / static_cast<double>(most_workers - from + 1);
}

/// Steps per second of a job that runs from its beginning to its end.
[[nodiscard]] inline double simulated(double one, double cap, std::int64_t workers) {
    constexpr double steps = 64'000;  // as in the paper
    sim::workload w;
    w.models.push_back(std::make_shared<sim::parameter_server_model>(std::vector<double>{one}, cap));
    w.jobs.push_back({.request = workers, .least = workers, .most = workers, .length = steps});
    return steps / finished(simulate(w, nodes_of(1, most_workers), policies::fifo()), 0);
}

/// How far the simulated speeds are from the measured ones, on average.
[[nodiscard]] inline double error_of(speeds const& measured, double cap) {
    double sum = 0;
    for (std::size_t w = 0; w < most_workers; ++w)
        sum +=
            std::fabs(simulated(measured[0], cap, static_cast<std::int64_t>(w + 1)) / measured[w] - 1) / most_workers;
    return sum;
}

inline void one_curve(curve const& c, findings& found) {
    std::size_t const from = saturated_from(c.median);
    double const cap = cap_of(c.median), with = error_of(c.median, cap), without = error_of(c.median, no_cap);
    found.print("| %s |", c.name().c_str());
    for (double const s : c.median) found.print(" %.1f |", s);
    if (from == 0) {
        found.print(" never | | | %.1f %% |\n", 100 * without);
        found.expect(without < 0.1, "control: " + c.name() +
                                        " needs no cap: the sum of the workers' speeds is within 10 %, on average");
        return;
    }
    found.print(" %zu | %.1f | %.1f %% | %.1f %% |\n", from, cap, 100 * with, 100 * without);
    found.expect(with < 0.1, c.name() + ": min(w s1, cap) is within 10 % of what was measured, on average");
    if (from <= 5)
        found.expect(without > 3 * with,
                     "control: " + c.name() + " without a cap is off by more than three times as much");
}

inline void speed_table(std::vector<curve> const& all, findings& found) {
    found.print(
        "| median steps/s with w workers | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | saturated from | cap | mean error | without a cap |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    bool is_k80_free = true, is_p100_bound = true;
    for (auto const& c : all) {
        one_curve(c, found);
        std::size_t const from = saturated_from(c.median);
        if (c.gpu == "K80") is_k80_free = is_k80_free && from == 0;
        if (c.gpu == "P100" && c.servers == 1) is_p100_bound = is_p100_bound && from >= 3 && from <= 5;
    }
    found.expect(is_k80_free, "K80: one server is never the bottleneck with 8 workers or fewer");
    found.expect(is_p100_bound, "P100: one server is the bottleneck from 3, 4 or 5 workers on");
}

/// The same limit, fed by medians and by means.
inline void detector_table(std::vector<curve> const& all, findings& found) {
    found.print(
        "\n| part of the sum, least over w | by medians | flagged at w | by means | flagged at w |\n|---|---|---|---|---|\n");
    bool are_medians_quiet = true, is_start_up_flagged = false;
    for (auto const& c : all) {
        found.print("| %s |", c.name().c_str());
        for (auto const* const s : {&c.median, &c.mean}) {
            double least = 1;
            std::string flagged;
            for (std::size_t w = 0; w < most_workers; ++w) {
                least = std::min(least, part_of_sum(*s, w));
                if (part_of_sum(*s, w) < saturated_below)
                    flagged += (flagged.empty() ? "" : ", ") + std::to_string(w + 1);
            }
            found.print(" %.3f | %s |", least, flagged.empty() ? "none" : flagged.c_str());
            if (c.gpu != "K80") continue;
            if (s == &c.median) are_medians_quiet = are_medians_quiet && flagged.empty();
            if (s == &c.mean) is_start_up_flagged = is_start_up_flagged || !flagged.empty();
        }
        found.print("\n");
    }
    found.expect(are_medians_quiet, "the detector fed by medians never flags a K80 curve");
    found.expect(is_start_up_flagged,
                 "control: fed by means, which hold the start-up, it flags a K80 curve that is not saturated");
}

/// Whether a second server doubles what the servers can take.
inline void second_server(std::vector<curve> const& all, findings& found) {
    found.print("\n| cap, P100 | 1 server | 2 servers | ratio |\n|---|---|---|---|\n");
    double least = 2, most = 0;
    for (auto const& one : all)
        for (auto const& two : all) {
            if (one.gpu != "P100" || two.gpu != "P100" || one.model != two.model || one.servers != 1 ||
                two.servers != 2)
                continue;
            double const ratio = cap_of(two.median) / cap_of(one.median);
            found.print("| %s | %.1f | %.1f | %.2f |\n", one.model.c_str(), cap_of(one.median), cap_of(two.median),
                        ratio);
            least = std::min(least, ratio);
            most = std::max(most, ratio);
        }
    found.expect(
        least < 1.2 && most > 1.6,
        "a second server adds two thirds for one model and next to nothing for another: it never doubles the cap");
}

/// Lifetimes of simulated servers, in seconds, ascending: 200 in a row on each of 100 nodes.
[[nodiscard]] inline std::vector<double> lifetimes_of(sim::server_lifetime const& servers) {
    constexpr std::size_t nodes = 100, of_each = 200;
    std::vector<double> lives;
    std::array<nanoseconds, nodes> since{};
    std::array<std::size_t, nodes> had{};
    for (auto const& f : sim::make_faults({.lifetime = servers, .startup = 90}, nodes_of(nodes, 1), 1,
                                          seconds((of_each + 1) * 86490.0))) {
        if (f.what == sim::fault_kind::node_lost && had.at(f.node)++ < of_each)
            lives.push_back(to_seconds(f.at - since.at(f.node)));
        since.at(f.node) = f.at;
    }
    RATION_ASSERT(lives.size() == nodes * of_each, "too few lifetimes");
    std::sort(lives.begin(), lives.end());
    return lives;
}
[[nodiscard]] inline double part_within(std::vector<double> const& ascending, double limit) noexcept {
    return static_cast<double>(std::lower_bound(ascending.begin(), ascending.end(), limit) - ascending.begin()) /
           static_cast<double>(ascending.size());
}

inline void lifetime_table(findings& found) {
    found.print(
        "\n| revoked within 1 h and 24 h | measured | simulated | farthest hour | even after 1 h, farthest hour | exponential, farthest hour |\n"
        "|---|---|---|---|---|---|\n");
    double farthest = 0, nearest_exponential = 1, farthest_even = 0;
    for (auto const& servers : sim::transient_servers) {
        auto const lives = lifetimes_of(servers);
        double const first = servers.revoked_within(1), day = servers.revoked_within(24);
        double off = 0, even_off = 0, exponential_off = 0;
        for (std::size_t h = 1; h <= sim::server_lifetime::hours; ++h) {
            double const time = 3600 * static_cast<double>(h), measured = servers.revoked_within(h);
            off = std::max(off, std::fabs(part_within(lives, time) - measured));
            even_off = std::max(even_off,
                                std::fabs(std::fma((day - first) / 23, static_cast<double>(h - 1), first) - measured));
            exponential_off = std::max(
                exponential_off, std::fabs(-std::expm1(std::log1p(-day) * static_cast<double>(h) / 24) - measured));
        }
        found.print("| %s %s | %.1f, %.1f %% | %.1f, %.1f %% | %.1f points | %.1f points | %.1f points |\n",
                    servers.gpu.data(), servers.region.data(), 100 * first, 100 * day, 100 * part_within(lives, 3600),
                    100 * part_within(lives, 86400), 100 * off, 100 * even_off, 100 * exponential_off);
        farthest = std::max(farthest, off);
        farthest_even = std::max(farthest_even, even_off);
        nearest_exponential = std::min(nearest_exponential, exponential_off);
    }
    found.expect(farthest < 0.02, "simulated revocations are within 2 points of each hourly count");
    found.expect(
        nearest_exponential > 0.05,
        "control: exponential lifetimes with the same share within a day are off by more than 5 points in every region");
    found.expect(
        farthest_even > 0.2,
        "control: revocations that come evenly after the first hour are off by more than 20 points in one region");
}

}  // namespace cm_dare
}  // namespace published
