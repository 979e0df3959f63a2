// SPDX-License-Identifier: BSL-1.0
// Small workloads and clusters, and policies whose rule a test writes down.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ration/sim/simulation.hpp>

namespace simulation_test {

using namespace ration;

/// A policy that is a function of what every policy sees.
class scripted final : public any_policy {
public:
    struct gpu_sample {
        tick_data const& tick;
        std::span<column_info const> schema;

        template <class T>
        [[nodiscard]] std::span<T const> get(std::string_view name) const {
            auto const* const c = find_column(schema, name);
            RATION_ASSERT(c != nullptr && c->type == type_of<T>, "a test reads a column that is not there");
            auto const& table = tick.data[c->table];
            return {static_cast<T const*>(table.slot[c->slot]), static_cast<std::size_t>(table.rows) * c->width};
        }
        [[nodiscard]] std::size_t jobs() const { return tick.data[table_id::jobs].rows; }
        [[nodiscard]] bool is_active(std::size_t row) const {
            return ration::is_active(static_cast<job_state>(get<std::uint32_t>("jobs/state")[row]));
        }
    };
    using rule = std::function<void(gpu_sample const&, grants&)>;

    explicit scripted(rule does) : does_(std::move(does)) {}
    [[nodiscard]] meta const& about() const noexcept override {
        static constexpr meta m{.id = "org.example.scripted", .version = "1.0.0"};
        return m;
    }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const&) noexcept override {
        schema_.assign(schema.begin(), schema.end());
        return {};
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        does_({t, schema_}, out);
        return status::ok;
    }

private:
    rule does_;
    std::vector<column_info> schema_;
};

inline void give(grants& out, std::size_t job, std::size_t node, std::int64_t devices) {
    static_cast<void>(out.set(job, node, resource_id::gpu, devices));
}

/// In the order of their rows, jobs get what they ask for on the first node that has it.
inline void first_fit(scripted::gpu_sample const& seen, grants& out) {
    auto const free = seen.get<std::int64_t>("nodes/free.gpu"), wants = seen.get<std::int64_t>("jobs/request.gpu"),
               held = seen.get<std::int64_t>("jobs/held.gpu");
    std::vector<std::int64_t> left(free.begin(), free.end());
    for (std::size_t row = 0; row < seen.jobs(); ++row) {
        if (!seen.is_active(row) || held[row] > 0) continue;
        for (std::size_t node = 0; node < left.size(); ++node) {
            if (left[node] < wants[row]) continue;
            left[node] -= wants[row];
            give(out, row, node, wants[row]);
            break;
        }
    }
}

struct rigid_job {
    double submitted = 0;
    std::int64_t devices = 1;
    double length = 0;  ///< seconds
    double restart_cost = 0;
};

[[nodiscard]] inline sim::workload rigid(std::vector<rigid_job> const& jobs) {
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    for (auto const& j : jobs)
        w.jobs.push_back({.submitted = seconds(j.submitted),
                          .request = j.devices,
                          .least = j.devices,
                          .most = j.devices,
                          .length = j.length,
                          .restart_cost = j.restart_cost});
    return w;
}

[[nodiscard]] inline sim::cluster nodes_of(std::size_t nodes, std::int64_t devices) {
    sim::cluster c;
    c.groups.push_back({.nodes = nodes, .devices = devices});
    return c;
}

/// The run, which has to succeed.
[[nodiscard]] inline sim::run_outcome simulate(sim::workload const& jobs, sim::cluster const& machines,
                                               scripted::rule rule,
                                               sim::sim_options const& options = {.interval = {}}) {
    scripted policy(std::move(rule)), fallback([](auto const&, grants&) {});
    sim::simulation run(jobs, machines, policy, fallback, options);
    auto outcome = run.run();
    RATION_ASSERT(outcome, "a test's premise does not hold");
    return std::move(outcome).value();
}

}  // namespace simulation_test
