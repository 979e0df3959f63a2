// SPDX-License-Identifier: BSL-1.0
#include "report/run_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/quantity.hpp"
#include "config/config.hpp"
#include "config/document.hpp"
#include "report/job_fields.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string amount_text(double amount) {
    return std::isinf(amount) ? "no limit" : fmt::format("{:.0f}", amount);
}

/// Ends the stretch that a job is in, and begins that of its tier and its condition.
void set_phase(job_record& job, std::int64_t t) {
    constexpr std::size_t most_phases = 400;
    auto const next = job.phase_from_reports();
    if (!job.phases.empty() && job.phases.back().to < 0) {
        if (job.phases.back().phase == next) return;
        job.phases.back().to = t;
    }
    // A job that flickers: its last stretch continues from here
    if (job.phases.size() == most_phases) job.phases.pop_back();
    job.phases.push_back({next, t, -1});
}

}  // namespace

result<void, diagnostic> run_recorder::take(nlohmann::json const& line) {
    static std::unordered_map<std::string_view, handler> const handlers{
        {"run", &run_recorder::run},
        {"job_started", &run_recorder::job_started},
        {"resize", &run_recorder::resize},
        {"device", &run_recorder::device},
        {"delivered", &run_recorder::delivered},
        {"progress", &run_recorder::progress},
        {"tier_reached", &run_recorder::tier_reached},
        {"level", &run_recorder::level},
        {"condition", &run_recorder::condition},
        {"decision", &run_recorder::decision},
        {"item", &run_recorder::item},
        {"change", &run_recorder::change},
        {"deferred", &run_recorder::deferred},
        {"rejected", &run_recorder::rejected},
        {"warning", &run_recorder::warning},
        {"policy_log", &run_recorder::policy_log},
        {"job_ended", &run_recorder::job_ended},
        {"lost", &run_recorder::lost},
        {"run_ended", &run_recorder::run_ended},
    };
    event_fields fields(line);
    std::string const event = fields.text("event");
    std::int64_t const t = fields.whole("t");
    if (!fields.status()) return fields.status();
    run_.end = std::max(run_.end, t);
    auto const known = handlers.find(event);
    if (known != handlers.end())
        (this->*known->second)(fields, t);
    else if (event != "item_decision")  // its changes are events
        run_.count_unknown(shortened(event, longest_name));
    auto const& read = fields.status() ? parts_ : fields.status();
    if (read) return {};
    return diagnostic{.text = fmt::format("'{}': {}", event, read.failure().text)};
}

job_record& run_recorder::job_called(std::string const& name) {
    auto const [found, is_new] = places_.try_emplace(name, run_.jobs.size());
    if (is_new) run_.jobs.emplace_back().name = shortened(name, longest_name);
    return run_.jobs[found->second];
}

/// The jobs file is inside the log. Where it cannot be read, jobs become known as they start.
void run_recorder::know_jobs_of(std::string const& source) {
    if (source.size() > max_config_bytes) return;
    auto const parsed = parse_document(source);
    if (!parsed) return;
    diagnostics ignored;
    table_reader keys(*parsed, "", ignored);
    auto const* const jobs = keys.take<array>("job", "");
    if (jobs == nullptr) return;
    for (auto const& one : *jobs) {
        auto const* const job = std::get_if<table>(&one.data);
        if (job == nullptr) continue;
        auto const name = std::ranges::find(*job, "name", &entry::key);
        if (name == job->end() || !std::holds_alternative<std::string>(name->held.data)) continue;
        auto& record = job_called(std::get<std::string>(name->held.data));
        record.arrived = 0;
        read_job(*job, record, ignored);
    }
}

void run_recorder::add(std::int64_t t, std::string what, std::string const& job, std::string const& resource,
                       std::string const& from, std::string const& to, std::string const& why) {
    run_.entries.add({.t = t,
                      .last = t,
                      .times = 1,
                      .decision = decision_,
                      .what = std::move(what),
                      .job = shortened(job, longest_name),
                      .resource = shortened(resource, longest_name),
                      .from = shortened(from, longest_text),
                      .to = shortened(to, longest_text),
                      .why = shortened(why, longest_text)});
}

void run_recorder::run(event_fields& f, std::int64_t) {
    run_.program = shortened(f.text("ration"), longest_name);
    run_.policy = shortened(f.text("policy"), longest_text);
    run_.policy_version = shortened(f.text("policy_version"), longest_name);
    run_.isolation = shortened(f.text_or("isolation", ""), longest_name);
    run_.label = shortened(f.text_or("label", ""), longest_text);
    if (f.has("round")) run_.round = f.whole("round");
    run_.unix_time = f.whole("unix_time");
    run_.cpus = f.whole("cpus");
    run_.tick = f.whole("tick");
    run_.jobs_file = shortened(f.text("file"), longest_text);
    event_fields machine(f.object("machine"));
    run_.machine = shortened(machine.text_or("cpu_model", ""), longest_name);
    if (machine.has("memory")) run_.memory = machine.whole("memory");
    if (f.has("devices"))
        for (auto const& one : f.array("devices"))
            if (one.is_string()) run_.devices.know(one.get_ref<std::string const&>());
    for (auto const& one : f.array("controls")) {
        if (!one.is_object()) continue;
        auto const rough = event_fields(one).text_or("approximate", "");
        if (!rough.empty() && run_.approximate.size() < 20) run_.approximate.push_back(shortened(rough, longest_text));
    }
    know_jobs_of(f.text("source"));
}

void run_recorder::job_started(event_fields& f, std::int64_t t) {
    auto const name = f.text("job");
    auto const id = f.whole("id");
    (void)f.whole("incarnation");
    if (!f.status()) return;
    auto& job = job_called(name);
    by_id_[id] = places_[name];
    run_.devices.has(places_[name], f.text_or("devices", ""), t);
    if (!job.started) job.started = t;
    ++job.starts;
    job.condition = "running";
    job.ended_at.reset();
    set_phase(job, t);
}

/// Each transition of a resize is a line of the decision log, and names the devices that the job has since.
void run_recorder::resize(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), what = f.text("what"), devices = f.text("devices"), why = f.text("why");
    auto const from = f.whole("from"), to = f.whole("to");
    if (!f.status()) return;
    (void)job_called(name);
    run_.devices.has(places_[name], devices, t);
    add(t, what, name, "gpu", fmt::format("{}", from), fmt::format("{}", to),
        why.empty() ? devices : fmt::format("{}: {}", devices, why));
}

void run_recorder::device(event_fields& f, std::int64_t t) {
    auto const name = f.text("device"), what = f.text("what"), why = f.text("why");
    if (f.status()) add(t, what, name, "gpu", "", "", why);
}

void run_recorder::delivered(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), folder = f.text("folder");
    auto const step = f.whole("step");
    if (!f.status()) return;
    (void)job_called(name);
    add(t, "delivered", name, "", "", "", fmt::format("checkpoint of step {} in {}", step, folder));
}

void run_recorder::progress(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), metric = f.text("metric");
    auto const step = f.whole("step");
    auto const value = f.number("value");
    auto const smoothed = f.maybe_number("smoothed");
    if (!f.status()) return;
    auto& job = job_called(name);
    if (job.metric.empty()) job.metric = shortened(metric, longest_name);
    if (!std::isfinite(value)) return;  // NaN is not a point of a chart
    if (job.metric == shortened(metric, longest_name)) job.curve.add({t, step, smoothed.value_or(value)});
}

void run_recorder::tier_reached(event_fields& f, std::int64_t t) {
    auto const name = f.text("job");
    auto const tier = f.whole("tier"), after = f.whole("after");
    auto const value = f.number("value");
    if (!f.status()) return;
    auto& job = job_called(name);
    if (!job.arrived) job.arrived = std::max<std::int64_t>(t - after, 0);
    auto& when = tier >= 2 ? job.objective_at : job.acceptable_at;
    if (!when) when = t;
    job.tier = std::max(job.tier, static_cast<std::uint32_t>(std::min<std::int64_t>(tier, 2)));
    set_phase(job, t);
    add(t, tier >= 2 ? "Objective reached" : "Acceptable reached", name, "", "", "",
        fmt::format("{} {:.6g}", job.metric.empty() ? "metric" : job.metric, value));
}

void run_recorder::level(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), metric = f.text("metric");
    auto const holds = f.boolean("holds");
    auto const value = f.number("value"), met = f.number("met");
    if (!f.status()) return;
    auto& job = job_called(name);
    job.holds_level = holds;
    set_phase(job, t);
    add(t, holds ? "level holds" : "level lost", name, "", "", "",
        fmt::format("{} {:.6g}, {:.0f} % of the window met", metric, value, 100 * met));
}

void run_recorder::condition(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), now = f.text("now"), why = f.text("why");
    if (!f.status()) return;
    auto& job = job_called(name);
    add(t, "condition", name, "", job.condition, now, why);
    job.condition = shortened(now, longest_name);
    set_phase(job, t);
}

void run_recorder::decision(event_fields& f, std::int64_t t) {
    auto const number = f.whole("number"), took = f.whole("took");
    auto const status = f.number("status");
    auto const& columns = f.object("columns");
    if (!f.status()) return;
    decision_ = number;
    run_.decision_times.push_back(static_cast<double>(took) / 1e9);
    auto const code = std::abs(status) < 1e15 ? static_cast<std::int64_t>(status) : -1;
    constexpr std::size_t most_codes = 100;
    if (run_.statuses.contains(code) || run_.statuses.size() < most_codes) ++run_.statuses[code];
    if (code != 0) add(t, "no answer", "", "", "", "", fmt::format("the policy gave the status {}", code));
    // In a log of version 1 there is nothing of the kind, and its columns are as the grants left them.
    static nlohmann::json const nothing = nlohmann::json::object();
    auto const& after = f.has("columns_after") ? f.object("columns_after") : nothing;
    if (f.status()) parts_ = take_columns(columns, after, t);
}

void run_recorder::item(event_fields& f, std::int64_t t) {
    auto const name = f.text("item"), why = f.text("reason");
    auto const before = f.whole("before"), after = f.whole("after");
    if (!f.status()) return;
    add(t, "change", name, "cache", size_text({before}), size_text({after}), why);
}

void run_recorder::change(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), subject = f.text("subject"), from = f.text("old"), to = f.text("new"),
               why = f.text("reason"), when = f.text("when");
    if (!f.status()) return;
    ++run_.changes;
    ++job_called(name).changes;
    auto const file = subject.substr(subject.rfind('/') + 1), resource = f.text_or("resource", "");
    add(t, "change", name, resource.empty() ? file : resource + " (" + file + ")", from, to,
        when == "live" ? why : fmt::format("{} ({})", why, when));
}

void run_recorder::deferred(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), resource = f.text("resource"), why = f.text("why");
    auto const amount = f.amount("amount");
    if (!f.status()) return;
    ++run_.deferred;
    add(t, "deferred", name, resource, "", amount_text(amount), why);
}

void run_recorder::rejected(event_fields& f, std::int64_t t) {
    auto const rule = f.text("rule"), detail = f.text("detail");
    if (!f.status()) return;
    ++run_.rejected;
    add(t, "refused", "", "", "", "", detail.empty() ? rule : fmt::format("{}: {}", rule, detail));
}

void run_recorder::warning(event_fields& f, std::int64_t t) {
    auto const subject = f.text("subject"), message = f.text("message");
    if (!f.status()) return;
    ++run_.warnings;
    add(t, "warning", subject, "", "", "", message);
}

void run_recorder::policy_log(event_fields& f, std::int64_t t) {
    auto const level = f.text("level"), text = f.text("text");
    if (f.status()) add(t, "policy", "", "", "", "", fmt::format("{}: {}", level, text));
}

void run_recorder::job_ended(event_fields& f, std::int64_t t) {
    auto const name = f.text("job"), how = f.text("how"), why = f.text("why");
    if (!f.status()) return;
    auto& job = job_called(name);
    job.how = shortened(how, longest_name);
    job.why = shortened(why, longest_text);
    job.ended_at = t;
    if (f.has("level_met")) job.level_met = f.maybe_number("level_met");
    run_.devices.has(places_[name], "", t);
    if (!job.phases.empty() && job.phases.back().to < 0) job.phases.back().to = t;
    add(t, "ended", name, "", "", how, why);
}

void run_recorder::lost(event_fields& f, std::int64_t t) {
    auto const count = f.whole("count");
    run_.lost_events = std::max(run_.lost_events, count);
    add(t, "lost", "", "", "", "", fmt::format("{} events are missing here", count));
}

/// The summary counts where it differs from earlier events.
void run_recorder::run_ended(event_fields& f, std::int64_t) {
    run_.makespan = f.whole("makespan");
    run_.mean_cpu = f.number("mean_cpu");
    if (f.has("available_cpu")) run_.available_cpu = f.maybe_number("available_cpu");
    run_.interrupted = f.boolean("interrupted");
    run_.lost_events = f.whole("lost_events");
    run_.approximate.clear();
    for (auto const& text : f.array("approximate"))
        if (text.is_string() && run_.approximate.size() < 20)
            run_.approximate.push_back(shortened(text.get<std::string>(), longest_text));
    for (auto const& one : f.array("jobs")) {
        if (!one.is_object()) continue;
        event_fields summary(one);
        read_summary(summary, job_called(summary.text("job")));
        if (summary.status()) continue;
        parts_ = diagnostic{.text = fmt::format("of a job, {}", summary.status().failure().text)};
        return;
    }
}

namespace {

[[nodiscard]] std::vector<double> by_place(nlohmann::json const& ids, nlohmann::json const& values, bool amounts,
                                           std::unordered_map<std::int64_t, std::size_t> const& places,
                                           std::vector<job_record> const& jobs) {
    std::vector<double> of;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        auto const value = amounts ? amount_in(values[row]) : number_in(values[row]);
        auto const place = ids[row].is_number_integer() ? places.find(ids[row].get<std::int64_t>()) : places.end();
        // The last measured use of a job stays in the columns
        bool const there = place != places.end() && !jobs[place->second].ended_at;
        if (!value || std::isnan(*value) || *value == 0 || !there) continue;
        if (of.size() <= place->second) of.resize(place->second + 1);
        of[place->second] = *value;
    }
    return of;
}

[[nodiscard]] double sum_of(nlohmann::json const& amounts) {
    double sum = 0;
    for (auto const& one : amounts) sum += amount_in(one).value_or(0);
    return sum;
}

}  // namespace

result<void, diagnostic> run_recorder::take_columns(nlohmann::json const& columns, nlohmann::json const& after,
                                                    std::int64_t t) {
    constexpr std::string_view used = "jobs/used.", held = "jobs/held.", room = "nodes/capacity.";
    constexpr std::size_t most_resources = 16;
    auto const ids = columns.find("jobs/id");
    if (ids == columns.end() || !ids->is_array()) return diagnostic{.text = "it has no column 'jobs/id'"};
    for (auto const& [column, shown] : columns.items()) {
        std::string_view const name = column;
        bool const of_jobs = name.starts_with(used) || name.starts_with(held);
        if (!of_jobs && !name.starts_with(room)) continue;
        auto const changed = after.find(column);
        auto const& values = changed == after.end() ? shown : *changed;
        if (!values.is_array() || (of_jobs && values.size() != ids->size()))
            return diagnostic{
                .text = fmt::format("its column '{}' has not one value for each job", shortened(name, longest_name))};
        std::string const resource(name.substr(name.find('.') + 1));
        bool const is_new = !run_.resources.contains(resource);
        if (resource.size() > longest_name || (is_new && run_.resources.size() == most_resources)) continue;
        auto& record = run_.resources[resource];
        if (name.starts_with(room)) record.room.add(t, {sum_of(values)});
        if (name.starts_with(used)) record.used.add(t, by_place(*ids, values, false, by_id_, run_.jobs));
        // Use was measured up to the decision; what is held after it holds until the next one.
        if (name.starts_with(held))
            record.held.add(t, std::exchange(record.holds, by_place(*ids, values, true, by_id_, run_.jobs)));
    }
    return {};
}

run_history run_recorder::finish() && {
    for (auto& [name, record] : run_.resources) record.held.add(run_.end, std::move(record.holds));
    run_.devices.finish(run_.end);
    for (auto& job : run_.jobs) {
        if (!job.arrived) job.arrived = job.started;
        auto const end = job.ended_at.value_or(run_.end);
        for (auto& segment : job.phases)
            if (segment.to < 0) segment.to = std::max(end, segment.from);
        std::int64_t const until = job.started.value_or(run_.end);
        if (job.arrived && *job.arrived < until)
            job.phases.insert(job.phases.begin(), {job_phase::waiting, *job.arrived, until});
        if (job.how.empty()) job.how = job.started ? "running" : "waiting";
    }
    return std::move(run_);
}

}  // namespace ration::program
