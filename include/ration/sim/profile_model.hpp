// SPDX-License-Identifier: BSL-1.0
/// Elastic jobs with measured profiles: step times by placement and batch, and gradient statistics
/// by progress and batch. Source of the rules: A. Qiao et al., "Pollux: Co-adaptive Cluster
/// Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, and the simulator of its artifact.
/// Differences in the interpolation are noted where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// Seconds of a step, and the part for exchanging gradients, by local batch, ascending. Never
/// empty.
struct step_curve {
    /// All of one length: samples on a device, and seconds.
    std::vector<double> batch, step, sync;
};

/// Measured seconds of one step, and the part of them that is communication.
struct step_time {
    /// `sync` is at most `step`.
    double step = 0, sync = 0;
};

/// The time at a local batch: linear between two measured ones, and extrapolated linearly beyond
/// them. There it is at least the part of the nearest measured time that the batch is of that one's
/// batch, or the whole time for a larger batch: a line could lead below zero.
[[nodiscard]] inline step_time at_batch(step_curve const& c, double batch) noexcept {
    std::size_t const size = c.batch.size();
    if (size == 1) return {c.step[0], c.sync[0]};
    auto above = static_cast<std::size_t>(std::upper_bound(c.batch.begin(), c.batch.end(), batch) - c.batch.begin());
    above = std::clamp<std::size_t>(above, 1, size - 1);
    double const w = (batch - c.batch[above - 1]) / (c.batch[above] - c.batch[above - 1]);
    double const on_line = c.step[above - 1] + w * (c.step[above] - c.step[above - 1]);
    std::size_t const nearest = w < 0 ? above - 1 : above;
    bool const is_beyond = w < 0 || w > 1;
    double const least = is_beyond ? c.step[nearest] * std::min(1.0, batch / c.batch[nearest]) : 0;
    double const step = std::max(on_line, least);
    return {step, std::clamp(c.sync[above - 1] + w * (c.sync[above] - c.sync[above - 1]), 0.0, step)};
}

/// The measurements of an application.
struct profile {
    /// In samples: of all devices, and on one device at once.
    double initial_batch = 1, max_batch = 1, min_local_batch = 1, max_local_batch = 1;
    bool fixed_batch = false;  ///< a policy cannot choose the batch
    /// Share of its speed that a multi-node job loses while it shares a node with another such job
    double interference = 0;
    std::map<std::uint64_t, step_curve> by_spread;                         ///< `spread_key`
    std::map<std::pair<std::int64_t, std::int64_t>, step_curve> by_count;  ///< nodes, devices
    std::vector<double> ends;  ///< progress at which each row of the statistics ends, ascending
    /// Total batches of the columns of the statistics, ascending, from the initial to the largest
    std::vector<double> batches;
    /// Squared norm and variance of the gradient.
    std::vector<double> square, variance;  ///< of the gradient, [row * batches + column]
};

/// Devices on each node, descending, as one number; 0 for placements that were never measured: more
/// than 4 nodes, or more than 9 devices on one.
[[nodiscard]] constexpr std::uint64_t spread_key(std::span<std::int32_t const> spread) noexcept {
    std::uint64_t key = 0;
    if (spread.size() > 4) return 0;
    for (auto const devices : spread) {
        if (devices < 1 || devices > 9) return 0;
        key = key * 10 + static_cast<std::uint64_t>(devices);
    }
    return key;
}

/// A job with a profile. One step is one step of the initial batch, or the same progress. Speed =
/// gain(B) / (time of a step with batch B). gain(B) = (variance + square) / (variance * initial / B
/// + square), from the gradient statistics at this progress. A step that does not fit on the
/// devices is accumulated: its time is (accumulations) * (step - sync) + step.
class profile_model final : public job_model {
public:
    /// The largest number of devices of a job.
    static constexpr std::int64_t most_devices = 64;

private:
    // Batches that are tried for the best one, in a geometric series as in the paper
    static constexpr int candidates = 50;
    static constexpr double tolerance = 1e-8;

    /// The division of a batch among devices.
    struct division {
        double local = 0;          ///< samples on one device at once; 0 = impossible
        double accumulations = 0;  ///< steps without exchange before the one with
        double batch = 0;          ///< samples of all devices and accumulations
    };
    /// A candidate for the best batch on a number of devices.
    struct candidate {
        double batch = 0, seconds = 0;
        std::size_t column = 0;  ///< of the statistics, at or below the batch
        double weight = 0;       ///< of the next column
    };
    /// The precomputed scaling for one size of nodes.
    struct shown {
        std::vector<double> goodput;      // [row of the statistics * (most_devices + 1) + devices]
        std::vector<std::int64_t> batch;  // the same
        std::vector<candidate> fixed;     // [measured batch * (most_devices + 1) + devices]; 0 seconds = impossible
    };

    profile measured_;
    std::array<shown, 9> shown_{};  // index = devices of a node; filled for those that were prepared

public:
    /// Precondition: `measured` is complete (`read_profiles` validates it). `devices_per_node`,
    /// each from 1 to 8, are the node sizes for which `show` copies a precomputed table instead of
    /// O(most x candidates). O(rows x devices x candidates), some milliseconds.
    explicit profile_model(profile measured, std::span<std::int64_t const> devices_per_node)
        : measured_(std::move(measured)) {
        for (auto const devices : devices_per_node)
            if (devices >= 1 && devices < static_cast<std::int64_t>(shown_.size()))
                prepare(devices, shown_[static_cast<std::size_t>(devices)]);
    }

    /// The measurements.
    [[nodiscard]] profile const& measured() const noexcept { return measured_; }
    /// Steps of a whole job.
    [[nodiscard]] double length() const noexcept { return measured_.ends.back(); }

    /// True if the profile has an interference.
    [[nodiscard]] bool feels_contention() const noexcept override { return measured_.interference > 0; }
    /// The speed; it holds up to the end of the row of statistics.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        std::size_t const row = row_at(step);
        double const until =
            row + 1 < measured_.ends.size() ? measured_.ends[row] : std::numeric_limits<double>::infinity();
        if (held.spread.empty()) return {0, until};
        double const speed = rate(held.spread, held.devices, held.batch > 0 ? held.batch : job.batch, row);
        // A job on one node exchanges no gradients over the network.
        bool const slowed = held.shares_node && held.spread.size() > 1;
        return {held.slowest * (slowed ? speed * (1 - measured_.interference) : speed), until};
    }

    /// Fills the scaling, from the table where there is one.
    void show(job_description const& job, double step, std::uint32_t, std::int64_t devices_per_node,
              scaling const& out) const noexcept override {
        std::size_t const row = row_at(step);
        std::int64_t const per_node = std::max<std::int64_t>(devices_per_node, 1);
        shown const* const table = per_node < static_cast<std::int64_t>(shown_.size()) &&
                                           !shown_[static_cast<std::size_t>(per_node)].goodput.empty()
                                       ? &shown_[static_cast<std::size_t>(per_node)]
                                       : nullptr;
        show_fixed(job.batch, row, per_node, table, out.goodput_fixed);
        std::array<candidate, candidates> tried;
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            auto const devices = static_cast<std::int64_t>(k);
            bool const possible = devices >= 1 && devices <= most_devices;
            // With a fixed batch, both curves are the same.
            if (!possible || measured_.fixed_batch) {
                out.goodput[k] = out.goodput_fixed[k];
                out.batch[k] = out.goodput[k] > 0 ? asked_for(job.batch) : 0;
            } else if (table != nullptr) {
                std::size_t const at = row * (most_devices + 1) + k;
                out.goodput[k] = table->goodput[at];
                out.batch[k] = table->batch[at];
            } else {
                auto const best = best_of({tried.data(), try_batches(devices, per_node, tried)}, row);
                out.goodput[k] = best.first;
                out.batch[k] = best.second;
            }
        }
    }

    /// Seconds of one step with this local batch. Precondition: `spread` is not empty. O(log
    /// measurements).
    [[nodiscard]] step_time time(std::span<std::int32_t const> spread, std::int64_t devices,
                                 double local_batch) const noexcept {
        auto const same = measured_.by_spread.find(spread_key(spread));
        if (same != measured_.by_spread.end()) return at_batch(same->second, local_batch);
        return between_counts(static_cast<double>(spread.size()), static_cast<double>(devices), local_batch);
    }

    /// The progress of one step with this batch, in steps of the initial batch. O(log batches).
    [[nodiscard]] double gain(double batch, double step) const noexcept {
        candidate c{.batch = batch};
        place(c);
        return gain_of(c, row_at(step));
    }

private:
    /// The row of statistics at a step. A step that is just below the end of a row by rounding
    /// belongs to the next one.
    [[nodiscard]] std::size_t row_at(double step) const noexcept {
        auto const& ends = measured_.ends;
        auto const row =
            static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), step * (1 + 1e-12)) - ends.begin());
        return std::min(row, ends.size() - 1);
    }

    [[nodiscard]] std::int64_t asked_for(std::int64_t batch) const noexcept {
        auto const least = static_cast<std::int64_t>(measured_.initial_batch),
                   most = static_cast<std::int64_t>(measured_.max_batch);
        return batch <= 0 ? least : std::clamp(batch, least, most);
    }

    /// Divides a batch. A single device accumulates at least once if its batch is above the initial
    /// one, because it measures the noise of the gradient that way.
    [[nodiscard]] division divide(double batch, double devices) const noexcept {
        double const share = batch / devices;
        double accumulations = std::ceil(share / measured_.max_local_batch - tolerance) - 1;
        if (devices == 1 && batch > measured_.initial_batch + tolerance) accumulations = std::max(accumulations, 1.0);
        double const parts = std::max(accumulations, 0.0) + 1;
        double const local =
            std::min(std::ceil(share / parts - tolerance), std::floor(measured_.max_batch / (devices * parts)));
        if (local < measured_.min_local_batch) return {};
        return {local, parts - 1, local * parts * devices};
    }

    [[nodiscard]] double rate(std::span<std::int32_t const> spread, std::int64_t devices, std::int64_t batch,
                              std::size_t row) const noexcept {
        return speed_of(with_batch(spread, devices, batch), row);
    }
    [[nodiscard]] double speed_of(candidate const& c, std::size_t row) const noexcept {
        return c.seconds > 0 ? gain_of(c, row) / c.seconds : 0;
    }

    /// A step with the requested batch; 0 seconds if it is impossible.
    [[nodiscard]] candidate with_batch(std::span<std::int32_t const> spread, std::int64_t devices,
                                       std::int64_t batch) const noexcept {
        if (devices < 1 || devices > most_devices) return {};
        double const count = static_cast<double>(devices);
        division const d = divide(std::ceil(static_cast<double>(asked_for(batch)) / count - tolerance) * count, count);
        if (d.local <= 0) return {};
        candidate c{.batch = d.batch, .seconds = seconds_of(time(spread, devices, d.local), d)};
        place(c);
        return c;
    }

    void show_fixed(std::int64_t batch, std::size_t row, std::int64_t per_node, shown const* table,
                    std::span<double> out) const noexcept {
        auto const& all = measured_.batches;
        auto const column = static_cast<std::size_t>(
            std::find(all.begin(), all.end(), static_cast<double>(asked_for(batch))) - all.begin());
        std::array<std::int32_t, most_devices> nodes;
        for (std::size_t k = 0; k < out.size(); ++k) {
            auto const devices = static_cast<std::int64_t>(k);
            if (k > most_devices)
                out[k] = 0;
            else if (table != nullptr && column < all.size())
                out[k] = speed_of(table->fixed[column * (most_devices + 1) + k], row);
            else
                out[k] = rate(fewest_nodes(devices, per_node, nodes), devices, batch, row);
        }
    }
    [[nodiscard]] static double seconds_of(step_time t, division const& d) noexcept {
        return t.step + d.accumulations * (t.step - t.sync);
    }

    void place(candidate& c) const noexcept {
        auto const& b = measured_.batches;
        if (b.size() == 1) return;
        auto const above = static_cast<std::size_t>(std::upper_bound(b.begin(), b.end(), c.batch) - b.begin());
        c.column = std::clamp<std::size_t>(above, 1, b.size() - 1) - 1;
        c.weight = std::clamp((c.batch - b[c.column]) / (b[c.column + 1] - b[c.column]), 0.0, 1.0);
    }

    [[nodiscard]] double gain_of(candidate const& c, std::size_t row) const noexcept {
        std::size_t const at = row * measured_.batches.size() + c.column, next = c.weight > 0 ? at + 1 : at;
        double const square = measured_.square[at] + c.weight * (measured_.square[next] - measured_.square[at]);
        double const variance = measured_.variance[at] + c.weight * (measured_.variance[next] - measured_.variance[at]);
        return (variance + square) / (variance * measured_.initial_batch / c.batch + square);
    }

    /// Fills `nodes` and returns the used part: full nodes, and one with the rest.
    [[nodiscard]] static std::span<std::int32_t const> fewest_nodes(
        std::int64_t devices, std::int64_t per_node, std::array<std::int32_t, most_devices>& nodes) noexcept {
        std::size_t count = 0;
        for (; devices > 0; devices -= per_node)
            nodes[count++] = static_cast<std::int32_t>(std::min(devices, per_node));
        return {nodes.data(), count};
    }

    /// Fills `into` with different divisions of batches in a geometric series, from the smallest to
    /// the largest possible. Returns their number.
    [[nodiscard]] std::size_t try_batches(std::int64_t devices, std::int64_t per_node,
                                          std::array<candidate, candidates>& into) const noexcept {
        std::array<std::int32_t, most_devices> nodes;
        auto const spread = fewest_nodes(devices, per_node, nodes);
        double const count = static_cast<double>(devices),
                     least = std::max(measured_.initial_batch, measured_.min_local_batch * count);
        std::size_t found = 0;
        for (int i = 0; i < candidates && least <= measured_.max_batch; ++i) {
            division const d = divide(least * std::pow(measured_.max_batch / least, i / (candidates - 1.0)), count);
            if (d.local <= 0 || d.batch < measured_.initial_batch || (found > 0 && d.batch == into[found - 1].batch))
                continue;
            into[found] = {.batch = d.batch, .seconds = seconds_of(time(spread, devices, d.local), d)};
            place(into[found++]);
        }
        return found;
    }

    /// Speed and batch of the best candidate; ties go to the smaller batch.
    [[nodiscard]] std::pair<double, std::int64_t> best_of(std::span<candidate const> tried,
                                                          std::size_t row) const noexcept {
        std::pair<double, std::int64_t> best{0, 0};
        for (auto const& c : tried)
            if (double const speed = gain_of(c, row) / c.seconds; speed > best.first)
                best = {speed, static_cast<std::int64_t>(c.batch)};
        return best;
    }

    void prepare(std::int64_t per_node, shown& into) const {
        std::size_t const rows = measured_.ends.size(), width = most_devices + 1;
        into.goodput.assign(rows * width, 0);
        into.batch.assign(rows * width, 0);
        into.fixed.assign(measured_.batches.size() * width, {});
        std::array<candidate, candidates> tried;
        std::array<std::int32_t, most_devices> nodes;
        for (std::int64_t devices = 1; devices <= most_devices; ++devices) {
            for (std::size_t b = 0; b < measured_.batches.size(); ++b)
                into.fixed[b * width + static_cast<std::size_t>(devices)] = with_batch(
                    fewest_nodes(devices, per_node, nodes), devices, static_cast<std::int64_t>(measured_.batches[b]));
            // The candidates do not depend on the progress, so they are computed once for all
            // rows.
            std::size_t const found = try_batches(devices, per_node, tried);
            for (std::size_t row = 0; row < rows; ++row) {
                auto const best = best_of({tried.data(), found}, row);
                std::size_t const at = row * width + static_cast<std::size_t>(devices);
                into.goodput[at] = best.first;
                into.batch[at] = best.second;
            }
        }
    }

    /// Interpolates placements that were not measured: linearly between the next smaller and the
    /// next larger measured number of nodes, at the same devices per node, and there between the
    /// next numbers of devices. Outside the measured range, the value at its edge is used. (The
    /// artifact interpolates in a triangulation of nodes, devices and batch.)
    [[nodiscard]] step_time between_counts(double nodes, double devices, double local_batch) const noexcept {
        auto const& all = measured_.by_count;
        auto const above = all.lower_bound({static_cast<std::int64_t>(nodes), 0});
        double const high =
            static_cast<double>(above != all.end() ? above->first.first : std::prev(all.end())->first.first);
        if (high <= nodes || above == all.begin()) return between_devices(high, devices * high / nodes, local_batch);
        double const low = static_cast<double>(std::prev(above)->first.first);
        step_time const a = between_devices(low, devices * low / nodes, local_batch),
                        b = between_devices(high, devices * high / nodes, local_batch);
        double const w = (nodes - low) / (high - low);
        return {a.step + w * (b.step - a.step), a.sync + w * (b.sync - a.sync)};
    }
    /// Precondition: this number of nodes was measured.
    [[nodiscard]] step_time between_devices(double nodes, double devices, double local_batch) const noexcept {
        auto const& all = measured_.by_count;
        auto const count = static_cast<std::int64_t>(nodes);
        auto const end = all.lower_bound({count + 1, 0});
        auto above = all.lower_bound({count, static_cast<std::int64_t>(std::ceil(devices))});
        if (above == end) return at_batch(std::prev(end)->second, local_batch);
        step_time const b = at_batch(above->second, local_batch);
        auto const high = static_cast<double>(above->first.second);
        if (high <= devices || above == all.lower_bound({count, 0})) return b;
        auto const below = std::prev(above);
        auto const low = static_cast<double>(below->first.second);
        step_time const a = at_batch(below->second, local_batch);
        double const w = (devices - low) / (high - low);
        return {a.step + w * (b.step - a.step), a.sync + w * (b.sync - a.sync)};
    }
};

}  // namespace ration::sim
