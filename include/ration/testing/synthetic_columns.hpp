// SPDX-License-Identifier: BSL-1.0
/// The columns of a synthetic cluster: every standard column, filled from one job. A new column of the jobs table gets
/// its line in `show`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>
#include <ration/setting.hpp>
#include <ration/target.hpp>

namespace ration::testing {

/// The resources of a synthetic cluster: the standard ones, and a further setting.
inline constexpr auto synthetic_resources = [] {
    std::array<resource_info, std::size(standard_resources) + 1> all{};
    for (std::size_t r = 0; r < std::size(standard_resources); ++r) all[r] = standard_resources[r];
    all.back() = info_of<save_interval>();
    return all;
}();

template <class T>
using per_resource = std::array<T, synthetic_resources.size()>;

/// Devices that one job can use.
inline constexpr std::size_t most_devices = 16;
/// A value for each number of devices, from 0 on.
using by_devices = std::array<double, most_devices + 1>;
/// Rows of the tenants table.
inline constexpr std::size_t synthetic_tenants = 3;
/// Values of jobs/loss.window.
inline constexpr std::size_t loss_window = 8;

/// A job as the columns of the jobs table show it.
struct synthetic_job {
    std::uint64_t id = 0;
    std::uint32_t tenant = 0, tier = 0, restarts = 0;
    std::int64_t priority = 0;
    job_state state = job_state::queued;
    nanoseconds submitted{}, deadline{-1}, started{-1};
    double weight = 1, restart_cost = 0, save_cost = 0;  ///< costs in seconds
    double done = 0;                                     ///< steps; the column shows whole ones
    double length = 0, remaining = 0;                    ///< steps; NaN = unknown
    double measured_steps_per_second = 0, attained = 0;
    double loss = 100, best_loss = 100;
    double target_loss = 0;                    ///< NaN = none
    double slo_met = 0, slo_slack = 0;         ///< both 0 = no level
    std::array<double, loss_window> losses{};  ///< the last one is the newest
    by_devices speed{}, fixed_speed{};  ///< steps/s on devices of type 0: at the best batch, at the requested one
    per_resource<double> used{};
    per_resource<std::int64_t> minimum{}, maximum{}, request{}, requested{};

    [[nodiscard]] bool is_over() const noexcept { return !is_active(state); }
};

/// Handles of all columns of a synthetic cluster.
struct synthetic_columns {
    standard_columns standard;
    per_resource<column<std::int64_t>> request;
    std::uint32_t node_types = 1;  ///< devices of type t are t + 1 times as fast as those of type 0

    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return standard.resources[static_cast<std::size_t>(r)];
    }

    /// Errors: those of `snapshot_store::declare`.
    [[nodiscard]] static result<synthetic_columns> declare(snapshot_store& store, std::uint32_t node_types) noexcept {
        auto standard = standard_columns::declare(store, synthetic_resources);
        if (!standard) return standard.failure();
        synthetic_columns all{*standard, {}, node_types};
        for (auto const& c : catalogue) {
            if (c.offer == column_offer::by_every_host || is_family(c.name)) continue;
            if (auto const added = all.standard.add(store, c.name, all.width_of(c)); !added) return added.failure();
        }
        for (std::size_t r = 0; r < all.request.size(); ++r) {
            auto const name = text<longest_column_name>("jobs/request.").append(synthetic_resources[r].name);
            auto const made = store.declare<std::int64_t>(name.view());
            if (!made) return made.failure();
            all.request[r] = *made;
        }
        return all;
    }

    /// Writes into a row what its job shows.
    void show(snapshot_store& store, std::size_t row, synthetic_job const& job) const noexcept {
        store.at(standard.id, row) = job.id;
        store.at(standard.get<"jobs/tenant">(), row) = job.tenant;
        store.at(standard.get<"jobs/weight">(), row) = job.weight;
        store.at(standard.get<"jobs/priority">(), row) = job.priority;
        store.at(standard.get<"jobs/submitted">(), row) = job.submitted.count;
        store.at(standard.get<"jobs/deadline">(), row) = job.deadline.count;
        store.at(standard.started, row) = job.started.count;
        store.at(standard.state, row) = static_cast<std::uint32_t>(job.state);
        store.at(standard.step, row) = static_cast<std::uint64_t>(job.done);
        store.at(standard.loss, row) = job.loss;
        store.at(standard.get<"jobs/loss.best">(), row) = job.best_loss;
        store.at(standard.get<"jobs/loss.target">(), row) = job.target_loss;
        for (std::size_t i = 0; i < loss_window; ++i)
            (&store.at(standard.get<"jobs/loss.window">(), row))[i] = job.losses[i];
        store.at(standard.tier, row) = job.tier;
        store.at(standard.tiers, row) = two_tier_target::objective_tier;
        store.at(standard.get<"jobs/slo.met">(), row) = job.slo_met;
        store.at(standard.get<"jobs/slo.slack">(), row) = job.slo_slack;
        store.at(standard.get<"jobs/attained">(), row) = job.attained;
        store.at(standard.measured_steps_per_second, row) = job.measured_steps_per_second;
        store.at(standard.get<"jobs/total_steps">(), row) = job.length;
        store.at(standard.remaining, row) = job.remaining;
        store.at(standard.get<"jobs/restarts">(), row) = job.restarts;
        store.at(standard.restart_cost, row) = job.restart_cost;
        store.at(standard.get<"jobs/save_cost">(), row) = job.save_cost;
        show_demand(store, row, job);
        show_phase(store, row, job);
        show_scaling(store, row, job);
    }

private:
    [[nodiscard]] std::uint32_t width_of(column_description const& c) const noexcept {
        if (c.shape == column_shape::scalar) return 1;
        if (c.name == "jobs/loss.window") return loss_window;
        std::uint32_t const counts = most_devices + 1;
        return c.name.starts_with("jobs/goodput") ? node_types * counts : counts;
    }

    void show_demand(snapshot_store& store, std::size_t row, synthetic_job const& job) const noexcept {
        for (std::size_t r = 0; r < synthetic_resources.size(); ++r) {
            auto const& c = standard.resources[r];
            store.at(c.used, row) = job.used[r];
            store.at(c.minimum, row) = job.minimum[r];
            store.at(c.maximum, row) = job.maximum[r];
            store.at(c.requested, row) = job.requested[r];
            store.at(request[r], row) = job.request[r];
        }
    }
    /// Two classes of jobs, which have four phases of 16 steps. A tenth of the time a limit holds the job back.
    void show_phase(snapshot_store& store, std::size_t row, synthetic_job const& job) const noexcept {
        auto const phase = static_cast<std::uint32_t>(job.done / 16) % 5;
        double const unknown = std::numeric_limits<double>::quiet_NaN();
        store.at(standard.get<"jobs/class">(), row) = static_cast<std::uint32_t>(job.id % 2);
        store.at(standard.get<"jobs/throttled.cpu">(), row) = static_cast<std::uint64_t>(job.done) % 10 == 0 ? 0.5 : 0;
        store.at(standard.get<"jobs/phase">(), row) = phase < 4 ? phase : 0xFFFF'FFFF;
        store.at(standard.get<"jobs/expected.cpu">(), row) = phase < 4 ? 500.0 * (phase + 1) : unknown;
        store.at(standard.get<"jobs/expected.memory">(), row) = phase < 4 ? 1e9 * (phase + 1) : unknown;
    }
    void show_scaling(snapshot_store& store, std::size_t row, synthetic_job const& job) const noexcept {
        auto const asked = static_cast<std::size_t>(job.request[static_cast<std::size_t>(resource_id::gpu)]);
        store.at(standard.get<"jobs/nominal_steps_per_second">(), row) =
            job.fixed_speed[asked < most_devices ? asked : most_devices];
        for (std::size_t k = 0; k <= most_devices; ++k) {
            (&store.at(standard.get<"jobs/speedup">(), row))[k] = job.speed[1] > 0 ? job.speed[k] / job.speed[1] : 0;
            (&store.at(standard.get<"jobs/batch">(), row))[k] = static_cast<std::int64_t>(32 * k);
            for (std::uint32_t type = 0; type < node_types; ++type) {
                std::size_t const at = type * (most_devices + 1) + k;
                (&store.at(standard.get<"jobs/goodput">(), row))[at] = job.speed[k] * (type + 1);
                (&store.at(standard.get<"jobs/goodput.fixed">(), row))[at] = job.fixed_speed[k] * (type + 1);
            }
        }
    }
};

}  // namespace ration::testing
