// SPDX-License-Identifier: BSL-1.0
#include "columns.hpp"

#include <ration/column.hpp>

namespace ration::conformance {
namespace {

[[nodiscard]] cell whole(std::int64_t value) { return {value, static_cast<double>(value)}; }
[[nodiscard]] cell whole(std::uint64_t value) { return whole(static_cast<std::int64_t>(value)); }
[[nodiscard]] cell whole(std::uint32_t value) { return whole(std::int64_t{value}); }
[[nodiscard]] cell real(double value) { return {0, value}; }

struct job_column {
    std::string_view name;
    cell (*value)(made_up_job const& job, std::size_t k);
};
constexpr job_column job_columns[] = {
    {"jobs/id", [](made_up_job const& j, std::size_t) { return whole(j.id); }},
    {"jobs/tenant", [](made_up_job const& j, std::size_t) { return whole(j.tenant); }},
    {"jobs/weight", [](made_up_job const& j, std::size_t) { return real(j.weight); }},
    {"jobs/submitted", [](made_up_job const& j, std::size_t) { return whole(j.submitted); }},
    {"jobs/started", [](made_up_job const& j, std::size_t) { return whole(j.started); }},
    {"jobs/state", [](made_up_job const& j, std::size_t) { return whole(j.state); }},
    {"jobs/step", [](made_up_job const& j, std::size_t) { return whole(j.step); }},
    {"jobs/loss", [](made_up_job const& j, std::size_t) { return real(j.loss); }},
    {"jobs/loss.best", [](made_up_job const& j, std::size_t) { return real(j.loss); }},
    {"jobs/loss.window",
     [](made_up_job const& j, std::size_t k) { return real(j.loss * (1 + 0.01 * static_cast<double>(loss_window - 1 - k))); }},
    {"jobs/tier", [](made_up_job const& j, std::size_t) { return whole(j.tier); }},
    {"jobs/tiers", [](made_up_job const&, std::size_t) { return whole(std::uint32_t{2}); }},
    {"jobs/speedup",
     [](made_up_job const& j, std::size_t k) {
         auto const n = static_cast<double>(k);
         return real(n / (1 + 0.02 * j.weight * (n > 1 ? n - 1 : 0)));
     }},
    {"jobs/batch", [](made_up_job const&, std::size_t k) { return whole(std::uint64_t{32 * k}); }},
    {"jobs/remaining", [](made_up_job const& j, std::size_t) { return real(j.remaining); }},
    {"jobs/restart_cost", [](made_up_job const& j, std::size_t) { return real(j.restart_cost); }},
};

/// The resource whose name follows `family` in `name`; `resource_count` when none does.
[[nodiscard]] std::size_t resource_after(std::string_view family, std::string_view name) {
    if (!name.starts_with(family)) return resource_count;
    for (std::size_t r = 0; r < resource_count; ++r)
        if (name.substr(family.size()) == standard_resources[r].name) return r;
    return resource_count;
}

[[nodiscard]] std::int64_t held_everywhere(made_up_job const& job, std::size_t resource) {
    std::int64_t sum = 0;
    for (auto const& node : job.held) {
        if (node[resource] == RATION_UNLIMITED) return RATION_UNLIMITED;
        sum += node[resource];
    }
    return sum;
}

[[nodiscard]] cell job_value(std::string_view name, made_up_job const& job, std::size_t k) {
    for (auto const& column : job_columns)
        if (column.name == name) return column.value(job, k);
    if (auto const r = resource_after("jobs/used.", name); r < resource_count) return real(job.used[r]);
    if (auto const r = resource_after("jobs/held.", name); r < resource_count) return whole(held_everywhere(job, r));
    if (auto const r = resource_after("jobs/min.", name); r < resource_count) return whole(job.minimum[r]);
    if (auto const r = resource_after("jobs/max.", name); r < resource_count) return whole(job.maximum[r]);
    return {};
}

[[nodiscard]] cell node_value(std::string_view name, world const& w, std::size_t node) {
    if (auto const r = resource_after("nodes/capacity.", name); r < resource_count) return whole(node_capacity[r]);
    if (auto const r = resource_after("nodes/free.", name); r < resource_count)
        return whole(node_capacity[r] - w.promised(node, r));
    return {};
}

[[nodiscard]] cell held_value(std::string_view name, held_row const& row) {
    if (name == "held/job") return whole(row.job);
    if (name == "held/node") return whole(row.node);
    if (name == "held/resource") return whole(row.resource);
    return whole(row.amount);
}

/// A column that only this plugin knows: small numbers, the same for the same place.
[[nodiscard]] cell unknown_value(std::size_t row, std::size_t k) {
    auto const n = static_cast<std::int64_t>((row * 7 + k * 3) % 5);
    return {n, static_cast<double>(n)};
}

void offer(std::vector<offered_column>& all, std::string name, column_description const& column) {
    std::uint32_t const width = name == "jobs/loss.window" ? loss_window : column.shape == column_shape::vector ? devices + 1 : 1;
    auto const table = static_cast<std::uint32_t>(table_index_of(name));
    all.push_back({std::move(name), table, static_cast<std::uint32_t>(column.type), width});
}

}  // namespace

std::vector<offered_column> standard_offer() {
    std::vector<offered_column> all;
    for (auto const& column : catalogue) {
        if (column.name.back() != '.') {
            offer(all, std::string(column.name), column);
            continue;
        }
        for (auto const& resource : standard_resources) offer(all, std::string(column.name).append(resource.name), column);
    }
    return all;
}

std::vector<held_row> held_rows(world const& w) {
    std::vector<held_row> rows;
    for (auto const& job : w.jobs())
        for (std::uint32_t node = 0; node < w.nodes(); ++node)
            for (std::uint32_t r = 0; r < resource_count; ++r)
                if (job.held[node][r] != 0) rows.push_back({job.id, node, r, job.held[node][r]});
    return rows;
}

cell value_of(offered_column const& column, world const& w, std::vector<held_row> const& held, std::size_t row, std::size_t k) {
    if (!column.is_known) return unknown_value(row, k);
    switch (column.table) {
        case RATION_JOBS: return job_value(column.name, w.jobs()[row], k);
        case RATION_NODES: return node_value(column.name, w, row);
        case RATION_HELD: return held_value(column.name, held[row]);
        default: return unknown_value(row, k);
    }
}

}  // namespace ration::conformance
