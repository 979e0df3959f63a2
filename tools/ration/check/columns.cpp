// SPDX-License-Identifier: BSL-1.0
#include "columns.hpp"

#include <ration/column.hpp>

namespace ration::conformance {
namespace {

[[nodiscard]] cell whole(std::int64_t value) { return {value, static_cast<double>(value)}; }
[[nodiscard]] cell whole(std::uint64_t value) { return whole(static_cast<std::int64_t>(value)); }
[[nodiscard]] cell whole(std::uint32_t value) { return whole(std::int64_t{value}); }
[[nodiscard]] cell real(double value) { return {0, value}; }

/// So many times as fast on `k` devices as on one: ever less for each. `loss` is what each further one costs.
[[nodiscard]] double speedup(std::size_t k, double loss) {
    auto const n = static_cast<double>(k);
    return n / (1 + loss * (n > 1 ? n - 1 : 0));
}
[[nodiscard]] double speedup(synthetic_job const& job, std::size_t k) { return speedup(k, 0.02 * job.weight); }

/// Steps per second. Devices of a later type are faster; with the batch that was asked for, further ones help less.
[[nodiscard]] double on_type(std::size_t type) { return 20.0 * static_cast<double>(type + 1); }
[[nodiscard]] double goodput(synthetic_job const& job, std::size_t type, std::size_t k) {
    return on_type(type) * speedup(job, k);
}
[[nodiscard]] double fixed_goodput(synthetic_job const& job, std::size_t type, std::size_t k) {
    return on_type(type) * speedup(k, 0.05 * job.weight);
}

/// A name that ends in '.' stands for one column per resource, and `k` is the resource then.
template <class... Row>
struct synthetic_column {
    std::string_view name;
    cell (*value)(Row... row, std::size_t k);
};
constexpr synthetic_column<synthetic_job const&> job_columns[] = {
    {"jobs/id", [](synthetic_job const& j, std::size_t) { return whole(j.id); }},
    {"jobs/tenant", [](synthetic_job const& j, std::size_t) { return whole(j.tenant); }},
    {"jobs/weight", [](synthetic_job const& j, std::size_t) { return real(j.weight); }},
    {"jobs/submitted", [](synthetic_job const& j, std::size_t) { return whole(j.submitted); }},
    {"jobs/started", [](synthetic_job const& j, std::size_t) { return whole(j.started); }},
    {"jobs/state", [](synthetic_job const& j, std::size_t) { return whole(j.state); }},
    {"jobs/step", [](synthetic_job const& j, std::size_t) { return whole(j.step); }},
    {"jobs/loss", [](synthetic_job const& j, std::size_t) { return real(j.loss); }},
    {"jobs/loss.best", [](synthetic_job const& j, std::size_t) { return real(j.best_loss); }},
    {"jobs/loss.window",
     [](synthetic_job const& j, std::size_t k) {
         return real(j.loss * (1 + 0.01 * static_cast<double>(loss_window - 1 - k)));
     }},
    {"jobs/tier", [](synthetic_job const& j, std::size_t) { return whole(j.tier); }},
    {"jobs/tiers", [](synthetic_job const&, std::size_t) { return whole(std::uint32_t{2}); }},
    {"jobs/used.", [](synthetic_job const& j, std::size_t r) { return real(j.used[r]); }},
    {"jobs/held.", [](synthetic_job const& j, std::size_t r) { return whole(j.held_everywhere(r)); }},
    {"jobs/min.", [](synthetic_job const& j, std::size_t r) { return whole(j.minimum[r]); }},
    {"jobs/max.", [](synthetic_job const& j, std::size_t r) { return whole(j.maximum[r]); }},
    {"jobs/request.", [](synthetic_job const& j, std::size_t r) { return whole(j.request[r]); }},
    {"jobs/attained", [](synthetic_job const& j, std::size_t) { return real(j.attained); }},
    {"jobs/speedup", [](synthetic_job const& j, std::size_t k) { return real(speedup(j, k)); }},
    {"jobs/batch", [](synthetic_job const&, std::size_t k) { return whole(std::uint64_t{32 * k}); }},
    {"jobs/goodput",
     [](synthetic_job const& j, std::size_t k) { return real(goodput(j, k / (devices + 1), k % (devices + 1))); }},
    {"jobs/goodput.fixed", [](synthetic_job const& j,
                              std::size_t k) { return real(fixed_goodput(j, k / (devices + 1), k % (devices + 1))); }},
    {"jobs/measured_steps_per_second",
     [](synthetic_job const& j, std::size_t) { return real(j.measured_steps_per_second); }},
    {"jobs/nominal_steps_per_second",
     [](synthetic_job const& j, std::size_t) {
         return real(fixed_goodput(j, 0, static_cast<std::size_t>(j.request[RATION_GPU])));
     }},
    {"jobs/total_steps", [](synthetic_job const& j, std::size_t) { return real(j.length); }},
    {"jobs/remaining", [](synthetic_job const& j, std::size_t) { return real(j.remaining); }},
    {"jobs/restarts", [](synthetic_job const& j, std::size_t) { return whole(j.restarts); }},
    {"jobs/restart_cost", [](synthetic_job const& j, std::size_t) { return real(j.restart_cost); }},
};
constexpr synthetic_column<world const&, std::size_t> node_columns[] = {
    {"nodes/type",  // a room of one node has the later type, so that it knows both
     [](world const&, std::size_t node, std::size_t) {
         return whole(static_cast<std::uint32_t>((node + 1) % node_types));
     }},
    {"nodes/capacity.", [](world const&, std::size_t, std::size_t r) { return whole(node_capacity[r]); }},
    {"nodes/free.",
     [](world const& w, std::size_t node, std::size_t r) { return whole(node_capacity[r] - w.promised(node, r)); }},
};

template <class Columns>
[[nodiscard]] constexpr bool cover(Columns const& columns, std::string_view table) {
    for (auto const& standard : catalogue) {
        bool found = !standard.name.starts_with(table);
        for (auto const& column : columns) found |= column.name == standard.name;
        if (!found) return false;
    }
    return true;
}
static_assert(cover(job_columns, "jobs/") && cover(node_columns, "nodes/"),
              "a standard column is zero for every plugin that is tried");

/// The resource whose name follows `family` in `name`; `resource_count` when none does.
[[nodiscard]] std::size_t resource_after(std::string_view family, std::string_view name) {
    if (!name.starts_with(family)) return resource_count;
    for (std::size_t r = 0; r < resource_count; ++r)
        if (name.substr(family.size()) == standard_resources[r].name) return r;
    return resource_count;
}

template <class Columns, class... Row>
[[nodiscard]] cell value_in(Columns const& columns, std::string_view name, std::size_t k, Row const&... row) {
    for (auto const& column : columns) {
        if (column.name == name) return column.value(row..., k);
        if (column.name.back() != '.') continue;
        if (auto const r = resource_after(column.name, name); r < resource_count) return column.value(row..., r);
    }
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

[[nodiscard]] std::uint32_t width_of(column_description const& column) {
    if (column.shape == column_shape::scalar) return 1;
    if (column.name == "jobs/loss.window") return loss_window;
    return column.name.starts_with("jobs/goodput") ? node_types * (devices + 1) : devices + 1;
}

void offer(std::vector<offered_column>& all, std::string name, column_description const& column) {
    auto const table = static_cast<std::uint32_t>(table_index_of(name));
    all.push_back({std::move(name), table, static_cast<std::uint32_t>(column.type), width_of(column)});
}

}  // namespace

std::vector<offered_column> standard_offer() {
    std::vector<offered_column> all;
    for (auto const& column : catalogue) {
        if (column.name.back() != '.') {
            offer(all, std::string(column.name), column);
            continue;
        }
        for (auto const& resource : standard_resources)
            offer(all, std::string(column.name).append(resource.name), column);
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

cell value_of(offered_column const& column, world const& w, std::vector<held_row> const& held, std::size_t row,
              std::size_t k) {
    if (!column.is_known) return unknown_value(row, k);
    switch (column.table) {
        case RATION_JOBS: return value_in(job_columns, column.name, k, w.jobs()[row]);
        case RATION_NODES: return value_in(node_columns, column.name, k, w, row);
        case RATION_HELD: return held_value(column.name, held[row]);
        default: return unknown_value(row, k);
    }
}

}  // namespace ration::conformance
