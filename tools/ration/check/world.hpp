// SPDX-License-Identifier: BSL-1.0
/// A synthetic cluster: jobs come, work, reach tiers and go, the same on every run of one seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <ration/host/rng_sequence.hpp>
#include <ration/plugin/abi.h>
#include <ration/resource.hpp>

namespace ration::conformance {

inline constexpr std::size_t resource_count = std::size(standard_resources);
inline constexpr std::size_t most_jobs = 12, most_nodes = 3, most_grants = most_jobs * most_nodes * resource_count;
inline constexpr std::size_t devices = 8, loss_window = 8;
inline constexpr std::size_t node_types = 2;  ///< kinds of devices
inline constexpr std::int64_t second = 1'000'000'000;

template <class T>
using per_resource = std::array<T, resource_count>;

/// The capacity of every node, in the order of RATION_CPU, RATION_MEMORY, ...
inline constexpr per_resource<std::int64_t> node_capacity{16'000, std::int64_t{1} << 34, most_jobs, 8'000, 1 << 20,
                                                          4096};

struct synthetic_job {
    std::uint64_t id = 0, step = 0;
    std::uint32_t tenant = 0, state = RATION_QUEUED, tier = 0, restarts = 0;
    std::int64_t submitted = 0, started = -1;
    double weight = 1, loss = 100, best_loss = 100, restart_cost = 0;
    double length = 0, remaining = 0;                    ///< steps; NaN = unknown
    double measured_steps_per_second = 0, attained = 0;  ///< steps in the last second; device-seconds
    per_resource<double> used{};
    per_resource<std::int64_t> minimum{}, maximum{}, request{};
    std::array<per_resource<std::int64_t>, most_nodes> held{};

    [[nodiscard]] bool is_over() const noexcept { return state == RATION_DONE || state == RATION_FAILED; }
    /// On all nodes together; RATION_UNLIMITED if so on any.
    [[nodiscard]] std::int64_t held_everywhere(std::size_t resource) const noexcept;
};

class world {
    rng_sequence rng_;
    std::vector<synthetic_job> jobs_;
    std::vector<ration_event> events_;
    std::size_t nodes_;
    std::uint64_t tick_ = 0, last_id_ = 0;

public:
    static constexpr std::size_t first_jobs = 6;

    /// Begins with `first_jobs` jobs, all but one of them running.
    world(std::uint64_t seed, std::size_t nodes);

    /// Lets a second pass.
    void step();
    /// Takes over the grants. Precondition: they keep all rules.
    void apply(std::span<ration_grant const> grants);

    /// What has happened since the last call. Rows are those of the tables before it.
    [[nodiscard]] std::vector<ration_event> take_events();

    [[nodiscard]] std::span<synthetic_job const> jobs() const noexcept { return jobs_; }
    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }
    [[nodiscard]] std::uint64_t tick() const noexcept { return tick_; }
    [[nodiscard]] std::int64_t now() const noexcept { return static_cast<std::int64_t>(tick_) * second; }
    /// What the jobs hold together; what is unlimited promises nothing.
    [[nodiscard]] std::int64_t promised(std::size_t node, std::size_t resource) const noexcept;

private:
    void let_some_leave();
    void let_one_arrive();
    void let_it_work(synthetic_job& job);
    void predict(synthetic_job& job);
    void end(synthetic_job& job, std::uint32_t state);
    void happened(std::uint32_t kind, std::uint32_t row, std::uint64_t id, std::int64_t a = 0, std::int64_t b = 0);
};

}  // namespace ration::conformance
