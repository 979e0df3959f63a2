// SPDX-License-Identifier: BSL-1.0
// A host whose jobs report losses, for loss_delta_ratio.
#pragma once

#include <vector>

#include <ration/policies/loss_delta_ratio.hpp>

#include "asked.hpp"
#include "numbers.hpp"

namespace unit {

using ration::policies::loss_delta_direction;
using ration::policies::loss_delta_ratio;
using ration::policies::loss_delta_ratio_parameters;

using counts = std::vector<std::int64_t>;
inline constexpr auto favour_large = loss_delta_direction::favour_large;

/// Ratios are seen as they are: epsilon next to nothing, and no waiting.
[[nodiscard]] inline loss_delta_ratio_parameters plain() { return {.epsilon = 1e-9, .residence = 0}; }

/// Jobs on one node of `devices` devices, in windows of 100 steps.
struct shared : asked<loss_delta_ratio> {
    std::vector<ration::grant> rows;
    double now = 0;

    shared(std::size_t jobs, std::int64_t devices, loss_delta_ratio_parameters const& p = plain())
        : asked(jobs, loss_delta_ratio(p)) {
        on.set_capacity(resource_id::gpu, devices);
        for (std::size_t row = 0; row < jobs; ++row) report(row, 1, 1000);
    }
    void report(std::size_t row, std::uint64_t step, double loss) {
        on.store[on.columns.step][row] = step;
        on.store[on.columns.loss][row] = loss;
    }
    /// After `steps` more steps the loss of this job is lower by `by`.
    void fall(std::size_t row, double by, std::uint64_t steps = 100) {
        on.store[on.columns.step][row] += steps;
        on.store[on.columns.loss][row] -= by;
    }
    /// The devices of the active jobs in the order of their rows, one second later.
    counts decide() {
        rows = asked::decide(now += 1);
        counts devices;
        for (auto const& g : rows) devices.push_back(g.amount);
        return devices;
    }
    /// The last answer comes into force; from now on `decide` returns no row for a job that keeps its devices.
    void hold() {
        for (auto const& g : rows) on.store[on.of(resource_id::gpu).held][g.job] = g.amount;
    }
    /// Lets the jobs begin: the first report begins a window.
    void begin() {
        static_cast<void>(decide());
        static_cast<void>(decide());
    }
    /// First windows of 1 for all, so that from now on deltas are those of the test.
    void first_windows() {
        begin();
        for (std::size_t row = 0; row < on.store.rows(table_id::jobs); ++row) fall(row, 1);
        static_cast<void>(decide());
    }
    /// The devices of two jobs where the younger's delta is `ratio` times the older's.
    counts two(double ratio) {
        first_windows();
        fall(0, 1 / ratio);
        fall(1, 1);
        return decide();
    }
};

}  // namespace unit
