// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_row.hpp"

#include <bit>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "decide/row_key.hpp"
#include "events/event_fields.hpp"
#include "events/json_writer.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_reason = 400;

/// The value of a column that the node has written, or 0 where the job has no row yet.
template <class T>
[[nodiscard]] T value_of(job_table const& jobs, live_job const& job, std::string_view column) {
    auto const found = jobs.store().find<T>(column);
    return found && jobs.arrived(job) ? jobs.store().at(*found, job.row) : T{};
}

/// A column by its key of `ration decide`, with the range that it has there.
template <class T>
[[nodiscard]] T read_column(nlohmann::json const& row, std::string_view name, std::string& fault) {
    auto const& key = keys_of(table_id::jobs)[find_key(table_id::jobs, name)];
    auto const found = row.find(name);
    auto const bits = found != row.end() ? read_value(key, *found) : error{.code = errc::not_found};
    if (!bits) {
        if (fault.empty()) fault = fmt::format("its field '{}' is not {}", name, range_of(key));
        return T{};
    }
    return std::bit_cast<T>(*bits);
}

}  // namespace

std::optional<condition> condition_named(std::string_view name) noexcept {
    for (int i = 0; i <= static_cast<int>(condition::stopped); ++i)
        if (name_of(static_cast<condition>(i)) == name) return static_cast<condition>(i);
    return std::nullopt;
}

std::string node_row_json(live_job const& job, job_table const& jobs) {
    auto const& state = job.devices->state();
    bool const settled =
        state.phase == resize_phase::steady || state.phase == resize_phase::queued || state.phase == resize_phase::over;
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("job", job.config->name);
        json.member("now", name_of(job.now));
        json.member("why", shortened(job.why, longest_reason));
        json.member("incarnation", job.run.value);
        json.member("held.gpu", state.devices.wanted());
        json.member("devices", state.devices.size());
        json.member("settled", settled);
        json.member("resizable", state.can_change(state.seen));
        json.member("hello", job.devices->launch().has_reported());
        json.member("min.gpu", value_of<std::int64_t>(jobs, job, "jobs/min.gpu"));
        json.member("max.gpu", value_of<std::int64_t>(jobs, job, "jobs/max.gpu"));
        json.member("requested.gpu", value_of<std::int64_t>(jobs, job, "jobs/requested.gpu"));
        json.member("used.gpu", value_of<double>(jobs, job, "jobs/used.gpu"));
        json.member("attained", value_of<double>(jobs, job, "jobs/attained"));
        json.member("restart_cost", value_of<double>(jobs, job, "jobs/restart_cost"));
    });
    return out;
}

result<node_row, std::string> read_node_row(nlohmann::json const& row) {
    if (!row.is_object()) return std::string("a row of its jobs is not an object");
    event_fields fields(row);
    node_row out;
    out.job = fields.text("job");
    auto const now = condition_named(fields.text("now"));
    out.why = shortened(fields.text("why"), longest_reason);
    auto const incarnation = fields.whole("incarnation");
    out.granted = fields.whole("held.gpu");
    out.devices = fields.whole("devices");
    out.settled = fields.boolean("settled");
    out.resizable = fields.boolean("resizable");
    out.hello = fields.boolean("hello");
    out.requested = fields.whole("requested.gpu");
    std::string fault = fields.status() ? "" : fields.status().failure().text;
    out.least = read_column<std::int64_t>(row, "min.gpu", fault);
    out.most = read_column<std::int64_t>(row, "max.gpu", fault);
    out.used = read_column<double>(row, "used.gpu", fault);
    out.attained = read_column<double>(row, "attained", fault);
    out.restart_cost = read_column<double>(row, "restart_cost", fault);
    if (fault.empty() && !now) fault = "its field 'now' is not a condition of a job";
    if (fault.empty() && incarnation > std::numeric_limits<std::uint32_t>::max())
        fault = "its incarnation is too large";
    if (!fault.empty() || !now) return "in a row of its jobs, " + fault;
    out.now = *now;
    out.incarnation = static_cast<std::uint32_t>(incarnation);
    return out;
}

std::int64_t devices_of_node(job_table const& jobs) noexcept {
    auto const gpu = static_cast<std::size_t>(resource_id::gpu);
    return jobs.shares_devices() ? jobs.store().at(jobs.columns().resources[gpu].capacity, 0) : 0;
}

}  // namespace ration::program
