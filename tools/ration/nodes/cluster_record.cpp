// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_record.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "events/event_fields.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "nodes/node_name.hpp"
#include "nodes/node_row.hpp"

namespace ration::program {
namespace {

/// Numbers that determine how much memory is used, and for how long a node is awaited.
constexpr std::int64_t most_devices = std::int64_t{1} << 22;
constexpr nanoseconds shortest_lease = seconds(2), longest_lease = seconds(100LL * 365 * 24 * 3600);

[[nodiscard]] std::optional<std::int64_t> count_of(std::optional<nanoseconds> time) noexcept {
    return time ? std::optional(time->count) : std::nullopt;
}

[[nodiscard]] std::optional<nanoseconds> maybe_time(event_fields& fields, char const* name) {
    auto const value = fields.maybe_whole(name);
    return value ? std::optional(nanoseconds{*value}) : std::nullopt;
}

void write_launch(json_writer& json, recorded_launch const& job) {
    json.member("job", job.job);
    json.member("incarnation", job.incarnation);
    json.member("leaving", job.leaving);
    json.member("batch", job.batch);
    json.member("step", job.step);
    json.member("attained", job.attained);
    json.member("started", count_of(job.started));
    json.member("acceptable", count_of(job.acceptable));
    json.member("objective", count_of(job.objective));
    json.member("ended", count_of(job.ended));
    json.member("how", job.how ? name_of(*job.how) : std::string_view());
    json.member("why", job.why);
    json.key("layout").array([&] {
        for (auto const& part : job.layout)
            json.object([&] {
                json.member("node", part.node);
                json.member("devices", part.devices);
                json.member("is_there", part.is_there);
            });
    });
}

[[nodiscard]] recorded_part read_part(nlohmann::json const& json, std::string& fault) {
    event_fields fields(json);
    recorded_part out{
        .node = fields.text("node"), .devices = fields.whole("devices"), .is_there = fields.boolean("is_there")};
    if (!fields.status()) fault = fields.status().failure().text;
    if (!is_node_name(out.node)) fault = "a node has a name with unknown characters";
    if (out.devices > most_devices) fault = "a job has too many devices";
    return out;
}

[[nodiscard]] recorded_launch read_launch(nlohmann::json const& json, std::string& fault) {
    event_fields fields(json);
    recorded_launch out{.job = fields.text("job"),
                        .incarnation = static_cast<std::uint32_t>(std::min<std::int64_t>(
                            fields.whole("incarnation"), std::numeric_limits<std::uint32_t>::max() - 1)),
                        .leaving = fields.boolean("leaving"),
                        .batch = fields.whole("batch"),
                        .step = static_cast<std::uint64_t>(fields.whole("step")),
                        .attained = fields.number("attained"),
                        .started = maybe_time(fields, "started"),
                        .acceptable = maybe_time(fields, "acceptable"),
                        .objective = maybe_time(fields, "objective"),
                        .ended = maybe_time(fields, "ended"),
                        .how = condition_named(fields.text("how")),
                        .why = fields.text("why")};
    std::set<std::string> nodes;
    for (auto const& part : fields.array("layout")) {
        if (!part.is_object()) {
            fault = "a part of a job is not an object";
            return out;
        }
        out.layout.push_back(read_part(part, fault));
        if (!nodes.insert(out.layout.back().node).second) fault = "a job has a node twice";
    }
    if (!fields.status()) fault = fields.status().failure().text;
    if (out.how && !is_over(*out.how)) fault = "a job has ended without an end";
    return out;
}

}  // namespace

std::string to_json(cluster_record const& record) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("run", record.run);
        json.member("file", record.file);
        json.member("began", record.began);
        json.member("lease", record.lease);
        json.member("devices", record.devices);
        json.key("jobs").array([&] {
            for (auto const& job : record.jobs) json.object([&] { write_launch(json, job); });
        });
    });
    return out;
}

result<cluster_record, std::string> read_cluster_record(std::string_view text) {
    auto const json = parse_json(text);
    if (!json.is_object()) return std::string("it is not a JSON object");
    event_fields fields(json);
    cluster_record out{.run = fields.text("run"),
                       .file = fields.text("file"),
                       .began = nanoseconds{fields.whole("began")},
                       .lease = nanoseconds{fields.whole("lease")},
                       .devices = fields.whole("devices")};
    std::string fault;
    std::set<std::string> names;
    for (auto const& job : fields.array("jobs")) {
        if (!job.is_object()) return std::string("a job is not an object");
        out.jobs.push_back(read_launch(job, fault));
        if (!names.insert(out.jobs.back().job).second) fault = "a job is there twice";
    }
    if (!fields.status()) fault = fields.status().failure().text;
    if (!is_node_name(out.run)) fault = "the run has a name with unknown characters";
    if (out.devices > most_devices) fault = "it has too many devices";
    if (out.lease < shortest_lease || out.lease > longest_lease) fault = "its lease is not between 2 s and a century";
    if (!fault.empty()) return fault;
    return out;
}

}  // namespace ration::program
