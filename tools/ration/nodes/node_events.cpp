// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_events.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/printable.hpp"
#include "events/event_fields.hpp"
#include "events/json_reader.hpp"
#include "run/level_events.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_sentence = 1000, longest_name_list = 4000;

[[nodiscard]] std::uint32_t incarnation_in(event_fields& fields) {
    return static_cast<std::uint32_t>(
        std::min<std::int64_t>(fields.whole("incarnation"), std::numeric_limits<std::uint32_t>::max()));
}

[[nodiscard]] std::optional<int> number_of_end(event_fields& fields, char const* name) {
    auto const value = fields.maybe_whole(name);
    return value ? std::optional(static_cast<int>(std::min<std::int64_t>(*value, 255))) : std::nullopt;
}

[[nodiscard]] std::optional<resize_step> step_named(std::string_view name) noexcept {
    for (int i = 0; i <= static_cast<int>(resize_step::verified); ++i)
        if (name_of(static_cast<resize_step>(i)) == name) return static_cast<resize_step>(i);
    return std::nullopt;
}

[[nodiscard]] std::string fault_of(event_fields const& fields, std::string_view kind) {
    if (fields.status()) return {};
    return fmt::format("event {}: {}; use the same version of ration on all nodes",
                       quoted(printable(std::string(kind))), fields.status().failure().text);
}

/// A report of the job, as its tracker takes it.
[[nodiscard]] progress::report report_of(job_progress const& event) {
    progress::report out{};
    bool const is_loss = event.metric == "loss";
    out.type = is_loss ? progress::message_type::step : progress::message_type::eval;
    out.step = event.step;
    bool const finite = std::isfinite(event.value);
    out.non_finite = finite ? 0 : 1;
    if (is_loss) {
        out.loss_mean = event.value;
        out.loss_count = finite ? event.count : 0;
    } else {
        out.metric = event.metric;
        out.value = event.value;
    }
    return out;
}

}  // namespace

/// "n1:cpu-0,n1:cpu-1"
std::string node_events::on_node(std::size_t node, std::string_view devices) const {
    std::string out;
    while (!devices.empty()) {
        auto const name = devices.substr(0, devices.find(','));
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", nodes_.name(node), name);
        devices.remove_prefix(std::min(devices.size(), name.size() + 1));
    }
    return out;
}

result<void, std::string> node_events::take(std::size_t node, std::string_view text, nanoseconds now) {
    auto const json = parse_json(text);
    if (!json.is_object())
        return std::string("an event is not a JSON object; use the same version of ration on all nodes");
    event_fields fields(json);
    auto const kind = fields.text("event");
    if (kind == "device")
        take_device(node, fields, now);
    else if (kind == "warning")
        take_warning(node, fields, now);
    else
        take_event_of_job(node, kind, fields, now);
    auto sentence = fault_of(fields, shortened(kind, 40));
    return sentence.empty() ? result<void, std::string>() : result<void, std::string>(std::move(sentence));
}

void node_events::take_device(std::size_t node, event_fields& fields, nanoseconds now) {
    auto const device = on_node(node, shortened(fields.text("device"), longest_name_list));
    auto const what =
        fields.text("what") == name_of(device_change::cordoned) ? device_change::cordoned : device_change::back;
    events_.emit(device_changed{device, what, shortened(fields.text("why"), longest_sentence)}, now);
}

void node_events::take_warning(std::size_t node, event_fields& fields, nanoseconds now) {
    auto subject = fields.text("subject");
    if (jobs_.find(subject) == nullptr)
        subject = fmt::format("node {}, {}", nodes_.name(node), shortened(subject, 100));
    events_.warn_once(subject, shortened(fields.text("message"), longest_sentence), now);
}

/// The condition of a job on a node that it leaves is ignored.
void node_events::take_event_of_job(std::size_t node, std::string_view kind, event_fields& fields, nanoseconds now) {
    auto* const job = jobs_.find(fields.text("job"));
    if (job == nullptr || job->over()) return;
    auto const number = cluster_jobs::number_of(*job);
    if (!nodes_.registry().is_on(number, node)) return;
    bool const leaves = nodes_.registry().is_leaving(number);
    if (kind == "job_started") take_start(node, *job, fields, now);
    if (kind == "job_ended") take_end(node, *job, fields, now);
    if (!jobs_.launches().of(number).is_lead(node)) return;  // its processes report by rank 0
    if (kind == "progress") take_progress(*job, fields, now);
    if (kind == "condition" && !leaves) take_condition(*job, fields, now);
    if (kind == "resize") take_resize(node, *job, fields, now);
    if (kind == "delivered") take_delivery(*job, fields, now);
}

void node_events::take_start(std::size_t node, live_job& job, event_fields& fields, nanoseconds now) {
    auto const devices = on_node(node, shortened(fields.text("devices"), longest_name_list));
    auto const pid = std::min<std::int64_t>(fields.whole("pid"), std::numeric_limits<int>::max());
    auto const cpus = shortened(fields.text("cpus"), longest_name_list);
    auto placement = shortened(fields.text("placement"), longest_sentence);
    placement = "on node " + nodes_.name(node) + (placement.empty() ? "" : ": " + placement);
    job.run.value = std::max(job.run.value, incarnation_in(fields));
    job.launched_at = now;
    if (!job.started_at) job.started_at = now;
    if (job.waiting()) job.now = condition::running;
    events_.emit(job_started{.job = job.config->name,
                             .id = job.id,
                             .incarnation = job.run.value,
                             .pid = static_cast<int>(pid),
                             .command = job.config->command,
                             .devices = devices,
                             .cpus = cpus,
                             .placement = placement},
                 now);
}

void node_events::take_condition(live_job& job, event_fields& fields, nanoseconds now) {
    auto const condition = condition_named(fields.text("now"));
    if (condition && !is_over(*condition))
        set_condition(job, *condition, shortened(fields.text("why"), longest_sentence), now, events_);
}

void node_events::take_resize(std::size_t node, live_job& job, event_fields& fields, nanoseconds now) {
    auto const what = step_named(fields.text("what"));
    resize_changed const event{.job = job.config->name,
                               .incarnation = incarnation_in(fields),
                               .what = what.value_or(resize_step::settled),
                               .from = fields.whole("from"),
                               .to = fields.whole("to"),
                               .devices = on_node(node, shortened(fields.text("devices"), longest_name_list)),
                               .why = shortened(fields.text("why"), longest_sentence)};
    if (what && fields.status()) {
        jobs_.launches().of(cluster_jobs::number_of(job)).note_resize(*what);
        events_.emit(event, now);
    }
    jobs_.request_tick();
}

void node_events::take_delivery(live_job& job, event_fields& fields, nanoseconds now) {
    auto const folder = fields.text("folder");
    events_.emit(delivered{.job = job.config->name,
                           .incarnation = incarnation_in(fields),
                           .step = static_cast<std::uint64_t>(fields.whole("step")),
                           .files = static_cast<std::uint64_t>(fields.whole("files")),
                           .folder = folder},
                 now);
}

void node_events::take_progress(live_job& job, event_fields& fields, nanoseconds now) {
    auto const metric = shortened(fields.text("metric"), longest_sentence);
    job_progress event{.job = job.config->name,
                       .incarnation = incarnation_in(fields),
                       .step = static_cast<std::uint64_t>(fields.whole("step")),
                       .metric = metric,
                       .value = fields.number("value"),
                       .count = static_cast<std::uint64_t>(fields.whole("count")),
                       .smoothed = {}};
    if (!fields.status()) return;
    auto& progress = jobs_.progress_of(job);
    bool const reached = progress.take(report_of(event), now);
    jobs_.launches().of(cluster_jobs::number_of(job)).note_step(progress.step);
    event.smoothed = progress.smoothed();
    events_.emit(event, now);
    if (!reached) return;
    jobs_.request_tick();
    auto const tier = progress.tier();
    auto const at = tier == two_tier_target::acceptable_tier ? progress.acceptable_at : progress.objective_at;
    events_.emit(tier_reached{.job = job.config->name,
                              .tier = tier,
                              .step = progress.step,
                              .value = progress.smoothed().value_or(0),
                              .after = at.value_or(now) - job.config->at},
                 now);
}

void node_events::take_end(std::size_t node, live_job& job, event_fields& fields, nanoseconds now) {
    auto const how = condition_named(fields.text("how"));
    auto const why = shortened(fields.text("why"), longest_sentence);
    job_ended const event{.job = job.config->name,
                          .incarnation = incarnation_in(fields),
                          .how = how.value_or(condition::failed),
                          .exit_code = number_of_end(fields, "exit_code"),
                          .signal = number_of_end(fields, "signal"),
                          .step = static_cast<std::uint64_t>(fields.whole("step")),
                          .why = why,
                          .level_met = level_met_by(jobs_.progress_of(job))};
    if (!how || !is_over(*how) || !fields.status()) return;
    if (!jobs_.launches().end_part(cluster_jobs::number_of(job), node, *how, why))
        return;  // stopped by its node, which it leaves, or one of its parts
    jobs_.finish(job, *how, why, now);
    events_.emit(event, now);
}

}  // namespace ration::program
