// SPDX-License-Identifier: BSL-1.0
#include <cstring>

#include "common/version_text.hpp"
#include "events/events.hpp"
#include "events/json_writer.hpp"

namespace ration::program {

namespace {

void amount(json_writer& json, std::string_view name, std::int64_t n) {
    if (n == unlimited)
        json.member(name, "unlimited");
    else
        json.member(name, n);
}

void texts(json_writer& json, std::string_view name, std::span<std::string const> all) {
    json.key(name).array([&] {
        for (auto const& text : all) json.value(text);
    });
}

void row(json_writer& json, grant const& g) {
    json.object([&] {
        json.member("job", g.job);
        json.member("node", g.node);
        json.member("resource", g.resource);
        amount(json, "amount", g.amount);
        json.member("group", g.group);
        json.member("reason", g.reason);
    });
}

template <ColumnValue T>
void values(json_writer& json, void const* slot, std::size_t count) {
    auto const* const first = static_cast<T const*>(slot);
    for (std::size_t i = 0; i < count; ++i)
        if constexpr (std::is_same_v<T, float>)
            json.value(static_cast<double>(first[i]));
        else
            json.value(first[i]);
}

void column_values(json_writer& json, column_info const& info, table_view const& table) {
    std::size_t const count = table.rows * info.width;
    void const* const slot = table.slot[info.slot];
    json.key(info.name.view()).array([&] {
        switch (info.type) {
            case column_type::u32: return values<std::uint32_t>(json, slot, count);
            case column_type::i64: return values<std::int64_t>(json, slot, count);
            case column_type::u64: return values<std::uint64_t>(json, slot, count);
            case column_type::f32: return values<float>(json, slot, count);
            case column_type::f64: return values<double>(json, slot, count);
        }
    });
}

/// Whether a column has other rows, or other values, in the other tables.
[[nodiscard]] bool differs(column_info const& info, snapshot const& one, snapshot const& other) {
    table_view const &mine = one[info.table], &theirs = other[info.table];
    void const *const here = mine.slot[info.slot], *const there = theirs.slot[info.slot];
    return mine.rows != theirs.rows || (mine.rows > 0 && here != there &&
                                        std::memcmp(here, there, mine.rows * info.width * size_of(info.type)) != 0);
}

void write(json_writer& json, run_started const& e) {
    json.member("schema", log_schema);
    json.member("ration", version_text());
    json.member("policy", e.policy);
    json.member("policy_version", e.policy_version);
    json.member("label", e.label);
    json.member("round", e.round);
    json.key("parameters").object([&] {
        for (auto const& p : e.parameters) std::visit([&](auto const& v) { json.member(p.name, v); }, p.value);
    });
    json.member("isolation", e.isolation);
    json.member("seed", e.seed);
    json.member("unix_time", e.unix_time);
    json.member("cpus", e.cpus);
    json.member("tick", e.tick);
    json.key("machine").object([&] {
        json.member("cpus", e.machine.cpus);
        json.member("cpu_model", e.machine.cpu_model);
        json.member("memory", e.machine.memory);
        json.member("kernel", e.machine.kernel);
    });
    json.key("controls").array([&] {
        for (auto const& c : e.controls)
            json.object([&] {
                json.member("resource", c.resource);
                json.member("backend", c.backend);
                json.member("approximate", c.approximate);
            });
    });
    texts(json, "devices", e.devices);
    json.key("widths").object([&] {
        for (auto const& info : e.schema)
            if (info.width > 1) json.member(info.name.view(), info.width);
    });
    json.member("file", e.file);
    json.member("source", e.source);
}

void write(json_writer& json, job_started const& e) {
    json.member("job", e.job);
    json.member("id", e.id.value);
    json.member("incarnation", e.incarnation);
    json.member("pid", e.pid);
    texts(json, "command", e.command);
    json.member("devices", e.devices);
    json.member("cpus", e.cpus);
    json.member("placement", e.placement);
    json.member("percent", e.percent);
}

void write(json_writer& json, resize_changed const& e) {
    json.member("job", e.job);
    json.member("incarnation", e.incarnation);
    json.member("what", name_of(e.what));
    json.member("from", e.from);
    json.member("to", e.to);
    json.member("devices", e.devices);
    json.member("why", e.why);
}

void write(json_writer& json, device_changed const& e) {
    json.member("device", e.device);
    json.member("what", name_of(e.what));
    json.member("why", e.why);
}

void write(json_writer& json, job_progress const& e) {
    json.member("job", e.job);
    json.member("incarnation", e.incarnation);
    json.member("step", e.step);
    json.member("metric", e.metric);
    json.member("value", e.value);
    json.member("count", e.count);
    json.member("smoothed", e.smoothed);
}

void write(json_writer& json, tier_reached const& e) {
    json.member("job", e.job);
    json.member("tier", e.tier);
    json.member("step", e.step);
    json.member("value", e.value);
    json.member("after", e.after);
}

void write(json_writer& json, level_changed const& e) {
    json.member("job", e.job);
    json.member("holds", e.holds);
    json.member("step", e.step);
    json.member("metric", e.metric);
    json.member("value", e.value);
    json.member("met", e.met);
    json.member("slack", e.slack);
}

void write(json_writer& json, delivered const& e) {
    json.member("job", e.job);
    json.member("incarnation", e.incarnation);
    json.member("step", e.step);
    json.member("files", e.files);
    json.member("folder", e.folder);
}

void write(json_writer& json, condition_changed const& e) {
    json.member("job", e.job);
    json.member("now", name_of(e.now));
    json.member("why", e.why);
}

void write(json_writer& json, decision const& e) {
    json.member("number", e.number);
    json.member("seed", e.seed);
    json.member("budget", e.budget);
    json.member("took", e.took);
    json.member("status", e.status);
    json.key("rows").array([&] {
        for (std::size_t table = 0; table < table_count; ++table) json.value(e.shown->tables[table]->rows);
    });
    json.key("columns").object([&] {
        for (auto const& info : e.schema)
            if (info.table != table_id::tenants || (*e.shown)[info.table].rows > 0)
                column_values(json, info, (*e.shown)[info.table]);
    });
    json.key("columns_after").object([&] {
        for (auto const& info : e.schema)
            if (differs(info, *e.shown, *e.left)) column_values(json, info, (*e.left)[info.table]);
    });
    json.key("grants").array([&] {
        for (auto const& g : e.grants) row(json, g);
    });
}

void write(json_writer& json, item_decision const& e) {
    texts(json, "items", e.items);
    texts(json, "tenants", e.tenants);
    write(json, e.of);
}

void write(json_writer& json, item_changed const& e) {
    json.member("item", e.item);
    json.member("before", e.before);
    json.member("after", e.after);
    json.member("took", e.took);
    json.member("reason", e.reason);
}

void write(json_writer& json, change_applied const& e) {
    auto const resource = static_cast<std::size_t>(e.operation.resource);
    json.member("job", e.job);
    if (resource < std::size(standard_resources)) json.member("resource", standard_resources[resource].name);
    json.member("subject", e.operation.subject.view());
    json.member("when", name_of(e.operation.when));
    json.member("old", e.operation.old_value.view());
    json.member("new", e.operation.new_value.view());
    json.member("took", e.took);
    json.member("reason", e.reason);
}

void write(json_writer& json, change_deferred const& e) {
    json.member("job", e.job);
    json.member("resource", e.resource);
    amount(json, "amount", e.amount);
    json.member("why", name_of(e.why));
}

void write(json_writer& json, grant_rejected const& e) {
    json.key("grant");
    row(json, e.row);
    json.member("rule", name_of(e.rule));
    json.member("detail", e.detail);
}

void write(json_writer& json, warning const& e) {
    json.member("subject", e.subject);
    json.member("message", e.message);
}

void write(json_writer& json, policy_logged const& e) {
    json.member("policy", e.policy);
    json.member("level", e.level);
    json.member("text", e.text);
}

void write(json_writer& json, job_ended const& e) {
    json.member("job", e.job);
    json.member("incarnation", e.incarnation);
    json.member("how", name_of(e.how));
    json.member("exit_code", e.exit_code);
    json.member("signal", e.signal);
    json.member("step", e.step);
    json.member("why", e.why);
    json.member("level_met", e.level_met);
}

void write(json_writer& json, job_summary const& s) {
    json.object([&] {
        json.member("job", s.name);
        json.member("arrived", s.arrived);
        json.member("started", s.started);
        json.member("acceptable_at", s.acceptable_at);
        json.member("objective_at", s.objective_at);
        json.member("ended_at", s.ended_at);
        json.member("how", name_of(s.how));
        json.member("why", s.why);
        json.member("device_seconds", s.device_seconds);
        json.member("step", s.step);
        json.member("released", s.released);
        json.member("level_met", s.level_met);
    });
}

void write(json_writer& json, run_ended const& e) {
    auto const& s = e.summary;
    json.member("policy", s.policy);
    json.member("makespan", s.makespan);
    json.member("mean_cpu", s.mean_cpu);
    json.member("available_cpu", s.available_cpu);
    json.member("interrupted", s.interrupted);
    json.member("lost_events", s.lost_events);
    json.key("jobs").array([&] {
        for (auto const& job : s.jobs) write(json, job);
    });
    texts(json, "approximate", s.approximate);
}

constexpr std::string_view names[] = {"run",        "job_started",   "progress",  "tier_reached", "condition",
                                      "decision",   "change",        "deferred",  "rejected",     "warning",
                                      "policy_log", "job_ended",     "run_ended", "resize",       "device",
                                      "delivered",  "item_decision", "item",      "level"};
static_assert(std::size(names) == std::variant_size_v<event_body>);

}  // namespace

std::string to_json(event const& e) {
    std::string out;
    out.reserve(256);
    json_writer json(out);
    json.object([&] {
        json.member("event", names[e.body.index()]);
        json.member("t", e.at);
        std::visit([&](auto const& body) { write(json, body); }, e.body);
    });
    return out;
}

}  // namespace ration::program
