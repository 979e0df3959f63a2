// SPDX-License-Identifier: BSL-1.0
// The speed of training with a parameter server over the number of workers. Source: S. Li, R. J. Walls, T. Guo, "Characterizing and
// Modeling Distributed Training with Transient Cloud GPU Servers", ICDCS 2020, arXiv:2004.03072; measured values: the authors' repository.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>

#include <ration/sim/parametric_model.hpp>

#include "scene.hpp"

namespace published {
namespace cm_dare {

/// Steps per second with 1 to 8 workers and one parameter server.
struct measured {
    char const* name;
    std::array<double, 8> speed;
    bool saturates;
};
inline constexpr measured all[] = {{"P100 ResNet-32", {11.4, 22.2, 34.4, 40.6, 44.3, 44.2, 46.5, 42.8}, true},
                                   {"P100 Shake-big", {2.1, 4.0, 4.9, 6.0, 6.2, 6.0, 4.9, 6.5}, true},
                                   {"K80 ResNet-15", {9.7, 18.2, 27.2, 36.8, 45.9, 56.6, 61.1, 71.6}, false}};

/// What the servers can take: the mean from 5 workers on, where the curve is flat. Without a limit where it is not.
[[nodiscard]] inline double most_of(measured const& m) noexcept {
    double sum = 0;
    for (std::size_t w = 4; w < m.speed.size(); ++w) sum += m.speed[w] / 4;
    return m.saturates ? sum : 1e9;
}

/// Steps per second of a job that runs from its beginning to its end.
[[nodiscard]] inline double simulated(double one, double most, std::int64_t workers) {
    constexpr double steps = 64'000;  // as in the paper
    sim::workload w;
    w.models.push_back(std::make_shared<sim::parameter_server_model>(std::vector<double>{one}, most));
    w.jobs.push_back({.request = workers, .least = workers, .most = workers, .length = steps});
    return steps / finished(simulate(w, nodes_of(1, 8), policies::fifo()), 0);
}

struct errors {
    double mean = 0, worst = 0;
    std::size_t flagged_at = 0;  ///< workers at which the speed is first below 0.9 of the sum of the workers'; 0 = never
};

inline void row(measured const& m, bool with_limit, findings& found, errors& e) {
    double const most = with_limit ? most_of(m) : 1e9;
    found.print("%-16s %-10s", "", with_limit ? "simulated" : "w x s1");
    for (std::size_t i = 0; i < m.speed.size(); ++i) {
        auto const workers = static_cast<std::int64_t>(i + 1);
        double const speed = simulated(m.speed[0], most, workers), off = std::fabs(speed / m.speed[i] - 1);
        found.print(" %7.2f", speed);
        e.mean += off / static_cast<double>(m.speed.size()), e.worst = std::max(e.worst, off);
        if (e.flagged_at == 0 && speed < 0.9 * m.speed[0] * static_cast<double>(workers)) e.flagged_at = i + 1;
    }
    found.print("  mean error %4.1f%%, worst %4.1f%%\n", 100 * e.mean, 100 * e.worst);
}

inline void one_curve(measured const& m, findings& found) {
    found.print("%-16s %-10s", m.name, "measured");
    for (double const s : m.speed) found.print(" %7.2f", s);
    found.print("\n");
    errors with_limit, without;
    row(m, m.saturates, found, with_limit);
    found.expect(with_limit.mean < 0.1, std::string(m.name) + ": min(w s1, cap) is within 10 % of what was measured, on average");
    if (!m.saturates) {
        found.expect(with_limit.flagged_at == 0, std::string("control: ") + m.name + " needs no cap");
        return;
    }
    row(m, false, found, without);
    found.expect(without.mean > 3 * with_limit.mean && without.worst > 0.5,
                 std::string("control: ") + m.name + " without a cap is off by more than half with 8 workers");
    found.expect(with_limit.flagged_at == 4 || with_limit.flagged_at == 5, std::string(m.name) + ": the server becomes the bottleneck at 4 or 5 workers");
}

}  // namespace cm_dare

[[nodiscard]] inline findings cm_dare_scenario() {
    findings found;
    found.print("steps per second with one parameter server and so many workers\n%-27s", "");
    for (int w = 1; w <= 8; ++w) found.print(" %7d", w);
    found.print("\n");
    for (auto const& m : cm_dare::all) cm_dare::one_curve(m, found);
    auto const& resnet = cm_dare::all[0];
    double const two = cm_dare::simulated(resnet.speed[0], 2 * cm_dare::most_of(resnet), 7);
    found.print("%-16s 7 workers, 2 parameter servers: measured 79, simulated %.1f\n", resnet.name, two);
    found.expect(std::fabs(two / 79 - 1) < 0.1, "a second parameter server takes the bottleneck away: 7 workers, within 10 % of what was measured");
    return found;
}

}  // namespace published
