// SPDX-License-Identifier: BSL-1.0
#include "nodes/wire.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

#include "common/printable.hpp"
#include "events/bytes_member.hpp"
#include "events/event_fields.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "nodes/node_name.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_session = 64;
/// Jobs of a list, and devices of a node: an input must not determine how much memory is used.
constexpr std::size_t most_rows = 4096;

constexpr std::array<std::string_view, 6> order_names{"hello", "file", "begin", "jobs", "beat", "end"};
constexpr std::array<std::string_view, 5> report_names{"hello", "state", "event", "error", "ended"};
static_assert(order_names.size() == std::variant_size_v<node_order>);
static_assert(report_names.size() == std::variant_size_v<node_report>);

// --- Writing

void write_body(json_writer& json, hello_order const& m) {
    json.member("version", m.version);
    json.member("run", m.run);
    json.member("node", m.node);
    json.member("lease", m.lease);
    json.member("beat", m.beat);
    write_bytes(json.key("directory"), m.directory);
    write_bytes(json.key("output"), m.output);
    json.member("marker", m.marker);
    json.member("reattach", m.reattach);
}

void write_body(json_writer& json, file_order const& m) { json.member("text", m.text); }

void write_body(json_writer& json, begin_order const& m) {
    json.member("backend", m.backend);
    json.member("cpus", m.cpus);
    json.member("devices", m.devices);
}

void write_part(json_writer& json, job_part const& part) {
    json.member("nodes", part.nodes);
    json.member("node_rank", part.node_rank);
    json.member("rank", part.first_rank);
    json.member("world", part.world);
    json.member("master", part.master);
    json.member("port", part.port);
}

void write_body(json_writer& json, jobs_order const& m) {
    json.member("grants", m.grants);
    json.member("more", m.more);
    json.key("jobs").array([&] {
        for (auto const& job : m.jobs)
            json.object([&] {
                json.member("job", job.job);
                json.member("incarnations", job.incarnations);
                json.member("gpu", job.devices);
                json.member("batch", job.batch);
                write_part(json, job.part);
            });
    });
}

void write_body(json_writer&, beat_order const&) {}
void write_body(json_writer& json, end_order const& m) { json.member("kill", m.kill); }

void write_body(json_writer& json, hello_report const& m) {
    json.member("version", m.version);
    json.member("node", m.node);
    json.member("pid", m.pid);
    json.member("capacity.cpu", m.cpu);
    json.member("capacity.memory", m.memory);
    json.key("devices").array([&] {
        for (auto const& name : m.devices) json.value(name);
    });
    json.member("backend", m.backend);
    json.member("approximate", m.approximate);
    json.member("reattached", m.reattached);
}

void write_body(json_writer& json, error_report const& m) { json.member("message", m.message); }
void write_body(json_writer& json, ended_report const& m) { json.member("without_lease", m.without_lease); }
void write_body(json_writer& json, state_report const& m) {
    json.member("grants", m.grants);
    json.member("capacity.gpu", m.devices);
    json.member("more", m.more);
}
void write_body(json_writer&, event_report const&) {}

/// A value that is JSON already, as the last member.
void append_member(std::string& line, std::string_view key, std::string_view json) {
    line.pop_back();
    line += fmt::format(",\"{}\":{}}}", key, json);
}

void append_json(std::string&, auto const&) {}
void append_json(std::string& line, state_report const& m) { append_member(line, "jobs", m.rows); }
void append_json(std::string& line, event_report const& m) { append_member(line, "event", m.event); }

template <class Message>
[[nodiscard]] std::string line_of(wire_head const& head, std::string_view name, Message const& what) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("op", name);
        json.member("s", head.session);
        json.member("q", head.number);
        json.member("clock", head.clock);
        std::visit([&](auto const& m) { write_body(json, m); }, what);
    });
    std::visit([&](auto const& m) { append_json(out, m); }, what);
    return out;
}

// --- Reading

[[nodiscard]] std::optional<std::uint32_t> maybe_count(event_fields& fields, char const* name) {
    auto const value = fields.maybe_whole(name);
    if (!value) return std::nullopt;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(*value, std::numeric_limits<std::uint32_t>::max()));
}

/// A key that the first version of the wire did not have.
[[nodiscard]] bool flag_or_false(event_fields& fields, char const* name) {
    return fields.has(name) && fields.boolean(name);
}

/// A century: the sum of a clock and such a period fits.
constexpr nanoseconds longest_period = seconds(100LL * 365 * 24 * 3600);

[[nodiscard]] hello_order read_hello(event_fields& fields, std::string& fault) {
    hello_order out;
    out.version = fields.whole("version");
    if (out.version != wire_version) return out;
    out.run = fields.text("run");
    out.node = fields.text("node");
    out.lease = nanoseconds{fields.whole("lease")};
    out.beat = nanoseconds{fields.whole("beat")};
    out.directory = fields.bytes("directory");
    out.output = fields.bytes("output");
    out.marker = fields.text("marker");
    out.reattach = flag_or_false(fields, "reattach");
    if (!is_node_name(out.run) || !is_node_name(out.node))
        fault = "its run or its node has a name with other characters than letters, digits, '.', '-', '_' and '@'";
    else if (std::max(out.lease, out.beat) > longest_period)
        fault = "its lease or its beat is longer than a century";
    return out;
}

[[nodiscard]] job_part read_part(event_fields& fields) {
    constexpr std::int64_t most_nodes_of_job = 256, most_port = 65535;
    job_part out;
    out.nodes = static_cast<std::uint32_t>(std::min(fields.whole("nodes"), most_nodes_of_job));
    out.node_rank = static_cast<std::uint32_t>(std::min(fields.whole("node_rank"), most_nodes_of_job));
    out.first_rank = fields.whole("rank");
    out.world = fields.whole("world");
    out.master = fields.text("master");
    out.port = static_cast<std::uint16_t>(std::min(fields.whole("port"), most_port));
    return out;
}

[[nodiscard]] jobs_order read_jobs(event_fields& fields, std::string& fault) {
    jobs_order out{
        .grants = static_cast<std::uint64_t>(fields.whole("grants")), .jobs = {}, .more = fields.boolean("more")};
    for (auto const& row : fields.array("jobs")) {
        if (!row.is_object() || out.jobs.size() == most_rows) {
            fault = "its list of jobs has a row that is not an object, or too many rows";
            return out;
        }
        event_fields of_job(row);
        out.jobs.push_back({.job = of_job.text("job"),
                            .incarnations = static_cast<std::uint32_t>(of_job.whole("incarnations")),
                            .devices = of_job.whole("gpu"),
                            .batch = of_job.whole("batch"),
                            .part = read_part(of_job)});
        if (!of_job.status()) fault = "in its list of jobs, " + of_job.status().failure().text;
    }
    return out;
}

[[nodiscard]] hello_report read_own_hello(event_fields& fields, std::string& fault) {
    hello_report out;
    out.version = fields.whole("version");
    if (out.version != wire_version) return out;
    out.node = fields.text("node");
    out.pid = static_cast<int>(std::min<std::int64_t>(fields.whole("pid"), std::numeric_limits<int>::max()));
    out.cpu = fields.whole("capacity.cpu");
    out.memory = fields.whole("capacity.memory");
    for (auto const& name : fields.array("devices")) {
        if (!name.is_string() || out.devices.size() == most_rows) {
            fault = "its list of devices has an entry that is not a text, or too many entries";
            return out;
        }
        out.devices.push_back(name.get<std::string>());
    }
    out.backend = fields.text("backend");
    out.approximate = fields.text("approximate");
    out.reattached = flag_or_false(fields, "reattached");
    return out;
}

[[nodiscard]] state_report read_state(event_fields& fields) {
    return {.grants = static_cast<std::uint64_t>(fields.whole("grants")),
            .devices = fields.whole("capacity.gpu"),
            .rows = fields.array("jobs").dump(),
            .more = fields.boolean("more")};
}

[[nodiscard]] node_order read_body(std::size_t name, event_fields& fields, std::string& fault, node_order const&) {
    switch (name) {
        case 0: return read_hello(fields, fault);
        case 1: return file_order{fields.text("text")};
        case 2:
            return begin_order{.backend = fields.text("backend"),
                               .cpus = maybe_count(fields, "cpus"),
                               .devices = maybe_count(fields, "devices")};
        case 3: return read_jobs(fields, fault);
        case 4: return beat_order{};
        default: return end_order{fields.boolean("kill")};
    }
}

[[nodiscard]] node_report read_body(std::size_t name, event_fields& fields, std::string& fault, node_report const&) {
    switch (name) {
        case 0: return read_own_hello(fields, fault);
        case 1: return read_state(fields);
        case 2: return event_report{fields.object("event").dump()};
        case 3: return error_report{fields.text("message")};
        default: return ended_report{.without_lease = flag_or_false(fields, "without_lease")};
    }
}

/// Depth of an event in a message.
constexpr std::size_t most_depth = 16;

template <class Message, std::size_t Count>
[[nodiscard]] result<wire_message<Message>, std::string> read(std::string_view line,
                                                              std::array<std::string_view, Count> const& names) {
    auto const json =
        is_nested_deeper(line, most_depth) ? nlohmann::json(nlohmann::json::value_t::discarded) : parse_json(line);
    if (!json.is_object())
        return fmt::format("{} is not a JSON object; use the same version of ration on all nodes",
                           quoted(shortened(line, 60)));
    event_fields fields(json);
    auto const op = fields.text("op");
    wire_message<Message> out{{.session = fields.text("s"),
                               .number = static_cast<std::uint64_t>(fields.whole("q")),
                               .clock = fields.whole("clock")},
                              {}};
    auto const found = std::ranges::find(names, op);
    if (fields.status() && found == names.end())
        return fmt::format("unknown message {}; use the same version of ration on all nodes",
                           quoted(shortened(op, 60)));
    std::string fault;
    if (fields.status()) out.body = read_body(static_cast<std::size_t>(found - names.begin()), fields, fault, out.body);
    if (!fields.status()) fault = fields.status().failure().text;
    if (fault.empty() && out.head.session.size() > longest_session) fault = "its session is too long";
    if (!fault.empty())
        return fmt::format("message {}: {}; use the same version of ration on all nodes", quoted(shortened(op, 60)),
                           fault);
    return out;
}

}  // namespace

std::string to_line(wire_head const& head, node_order const& what) {
    return line_of(head, order_names[what.index()], what);
}

std::string to_line(wire_head const& head, node_report const& what) {
    return line_of(head, report_names[what.index()], what);
}

result<wire_message<node_order>, std::string> read_order(std::string_view line) {
    return read<node_order>(line, order_names);
}

result<wire_message<node_report>, std::string> read_report(std::string_view line) {
    return read<node_report>(line, report_names);
}

std::string_view without_banner(std::string_view line) {
    for (std::string_view const start : {"{\"op\":\"hello\"", "{\"op\":\"error\""})
        if (auto const at = line.find(start); at != line.npos) return line.substr(at);
    return line;
}

bool is_hello(std::string_view line) {
    if (!line.starts_with('{') || is_nested_deeper(line, most_depth)) return false;
    auto const json = parse_json(line);
    return json.is_object() && json.value("op", nlohmann::json()) == "hello";
}

std::string version_sentence(std::int64_t theirs) {
    return fmt::format(
        "the other side speaks version {} of the wire, and this one version {}; install the same version "
        "of ration on all nodes",
        theirs, wire_version);
}

}  // namespace ration::program
