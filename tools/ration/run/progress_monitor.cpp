// SPDX-License-Identifier: BSL-1.0
#include "run/progress_monitor.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <limits>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/log.hpp"

namespace ration::program {
namespace {

/// Output without progress is normal at the start of a job, and a mistake in `log` afterwards.
constexpr std::uint64_t patient_lines = 200;
constexpr nanoseconds first_match_within = seconds(30);
constexpr std::uint64_t many_values = 10;    // that cannot be read, and are worth a warning
constexpr std::size_t most_of_a_line = 120;  // bytes of a line in a warning

[[nodiscard]] std::string no_metric(std::string const& metric) {
    return fmt::format("no '{}', the metric of the target,", metric);
}

/// A sentence on a file that did not give this metric, which is that of the target.
[[nodiscard]] std::string unread_metrics(metric_file const& file, std::string const& metric) {
    if (!file.problem().empty()) return file.problem();
    if (file.rows() == 0)
        return fmt::format("'metrics' found no rows in {}; name the file that the job writes", file.path());
    auto const unread = file.values().reported() == 0 ? "nothing" : no_metric(metric);
    auto const columns = fmt::format("{}", fmt::join(file.header(), ", ")).substr(0, 2 * most_of_a_line);
    return fmt::format("'metrics' read {} from {}{}; name a column for the metric of the target", unread, file.path(),
                       columns.empty() ? "" : ", whose columns are " + columns);
}

/// The same of an output.
[[nodiscard]] std::string unread_log(progress::log_adapter const& adapter, job_config const& job) {
    auto const& counts = adapter.counts();
    auto const& [group, text] = adapter.unreadable();
    if (counts.lines == 0) return {};
    if (group == job.target.metric || (counts.reported == 0 && !group.empty()))
        return fmt::format("'log' matched {} line{} of its output, but group '{}' has the text {}, not a number",
                           counts.matched, counts.matched == 1 ? "" : "s", group, quoted(text));
    if (counts.reported > 0)
        return fmt::format("'log' read {} from its output by the pattern {}", no_metric(job.target.metric),
                           quoted(*std::ranges::find_if(job.log, [&](std::string const& pattern) {
                               return has_group(pattern, job.target.metric);
                           })));
    auto const line = adapter.unread_line().substr(0, most_of_a_line);
    return "'log' read nothing from its output" + (line.empty() ? "" : ", whose last line is " + quoted(line));
}

/// NaN if the message has no finite value.
[[nodiscard]] double value_of(progress::report const& body) noexcept {
    bool const is_step = body.type == progress::message_type::step;
    bool const has_none = is_step ? body.loss_count == 0 && body.non_finite > 0 : body.non_finite > 0;
    return has_none ? std::numeric_limits<double>::quiet_NaN() : is_step ? body.loss_mean : body.value;
}

/// Whether a sentence is due on the values of a metric that were not read.
[[nodiscard]] bool lost_many(progress::group_counts const& counts) noexcept {
    return counts.unreadable >= many_values || counts.unreadable > counts.read;
}

/// A sentence on values of a metric that `key` did not read, when it read others. `last`: a text that is not a number.
[[nodiscard]] std::string unread_values(std::string_view key, std::string const& metric,
                                        progress::group_counts const& counts, progress::named_text const& last) {
    return fmt::format(
        "'{}' could not read {} of {} values of '{}', since '{}' has the text {}; print numbers without "
        "units and separators of thousands",
        key, counts.unreadable, counts.read + counts.unreadable, metric, last.group,
        quoted(last.text.substr(0, most_of_a_line)));
}

/// Whether a process that ended so has written what it had to: a signal ends it inside a line. Shells and launchers
/// return 128 + number for a signal.
[[nodiscard]] bool wrote_all(process::exit_report const& how) noexcept {
    return how.how == process::exit_report::kind::exited && how.number < 128;
}

}  // namespace

progress_monitor::progress_monitor(progress::receiver receiver, std::string folder, job_table& jobs, node_backend& node,
                                   event_sink& events)
    : receiver_(std::move(receiver)), folder_(std::move(folder)), jobs_(jobs), node_(node), events_(events),
      sources_(jobs.capacity()), progress_(initial_progress(jobs.jobs())) {
    progress_.reserve(jobs.capacity());
}

void progress_monitor::add(live_job const& job) {
    training_progress const fresh(job.config->target);
    if (job.slot == progress_.size())
        progress_.push_back(fresh);
    else
        progress_[job.slot] = fresh;
}

result<void> progress_monitor::start_incarnation(live_job const& job) {
    sources_[job].said_done = false;
    auto const& owner = job.config->owner;
    auto const user =
        owner ? progress::job_user{owner->account.uid, owner->folder} : progress::job_user{::geteuid(), folder_};
    return receiver_.register_job(job.id, job.config->name, job.run, job.token, &user);
}

void progress_monitor::follow_metrics(live_job const& job, metric_file::existing_rows existing) {
    process::file_rights const rights(job.config->account());
    if (job.config->metrics)
        sources_[job].metrics.emplace(*job.config->metrics, job.config->directory, job.id, job.run, existing);
}

void progress_monitor::follow_output(live_job const& job, std::string const& path, nanoseconds now) {
    process::file_rights const rights(job.config->account());
    auto& source = sources_[job];
    if (source.output.path().empty())
        if (auto opened = source.output.open(path); !opened)
            events_.warn_once(job.config->name, to_text(opened.failure()), now);
    if (job.config->log.empty()) return;
    if (auto adapter = progress::log_adapter::make(job.config->log, job.id, job.run))
        source.adapter = std::move(adapter).value();
}

void progress_monitor::read(nanoseconds now, handler const& handle) {
    auto const belongs = [this](job_id id, pid_t pid) {
        // Its first process may have ended and left its group before its last messages are read
        auto const& job = jobs_.job(id);
        return (job.alive() && job.child().pid() == pid) || node_.jobs().may_report(id, pid);
    };
    if (auto const drained = receiver_.drain(now, belongs, handle); !drained)
        events_.warn_once("progress",
                          fmt::format("{}: {}", drained.failure().operation, name_of(drained.failure().code)), now);
    auto const& counts = receiver_.counts();
    if (counts.wrong_token + counts.wrong_uid + counts.wrong_process + counts.malformed > 0)
        events_.warn_once(
            "progress",
            "messages came that are not the jobs' own (wrong token, user, process or form); they are counted and dropped",
            now);
    read_outputs(now, handle);
}

void progress_monitor::read_outputs(nanoseconds now, handler const& handle) {
    for (auto const& job : jobs_.jobs()) {
        auto& source = sources_[job];
        if (job.waiting() || job.forgotten) continue;
        if (source.metrics)
            read_metrics(job, *source.metrics, now, handle);
        else if (source.adapter)
            read_log(job, *source.adapter, now, handle);
        else if (job.alive() && job.config->must_report)
            warn_of_unread_output(job, 1, now);
    }
}

void progress_monitor::read_log(live_job const& job, progress::log_adapter& adapter, nanoseconds now,
                                handler const& handle) {
    auto& output = sources_[job].output;
    for (auto text = output.read(); !text.empty(); text = output.read()) adapter.feed(text, handle);
    warn_of_unread_output(job, adapter.counts().lines, now);
    auto const& metric = job.config->target.metric;
    auto const counts = adapter.counts_of(metric);
    if (adapter.counts().overlong > 0)
        events_.warn_once(job.config->name,
                          fmt::format("its output has lines over {} bytes, which 'log' does not read; print shorter "
                                      "lines",
                                      progress::line_reader::max_line),
                          now);
    auto& source = sources_[job];
    if (source.warned_values || counts.read == 0 || !lost_many(counts)) return;
    source.warned_values = true;
    events_.warn_once(job.config->name, "so far, " + unread_values("log", metric, counts, adapter.unreadable()), now);
}

void progress_monitor::finish(live_job const& job, process::exit_report const& how, nanoseconds now,
                              handler const& handle) {
    bool const is_whole = wrote_all(how);
    auto& source = sources_[job];
    if (source.metrics) {
        {
            process::file_rights const rights(job.config->account());
            source.metrics->finish(is_whole, handle);
        }
        if (!source.metrics->problem().empty()) events_.warn_once(job.config->name, source.metrics->problem(), now);
    } else if (source.adapter) {
        read_log(job, *source.adapter, now, handle);
        if (is_whole && !source.output.ends_with_buffer()) source.adapter->finish(handle);
    }
}

void progress_monitor::read_metrics(live_job const& job, metric_file& file, nanoseconds now, handler const& handle) {
    {
        process::file_rights const rights(job.config->account());
        file.poll(now, handle);
    }
    if (!file.problem().empty()) events_.warn_once(job.config->name, file.problem(), now);
    warn_of_unread_output(job, file.rows(), now);
}

std::string progress_monitor::unread_output(live_job const& job) const {
    auto const& source = sources_[job];
    bool const has_log = source.adapter.has_value();
    if (source.metrics || has_log) {
        auto const& metric = job.config->target.metric;
        auto const values =
            source.metrics ? source.metrics->values().counts_of(metric) : source.adapter->counts_of(metric);
        if (source.reported_target && lost_many(values))
            return unread_values(source.metrics ? "metrics" : "log", metric, values,
                                 source.metrics ? source.metrics->values().unreadable() : source.adapter->unreadable());
        if (source.reported_target) return {};
        if (source.metrics) return unread_metrics(*source.metrics, job.config->target.metric);
        auto const sentence = unread_log(*source.adapter, *job.config);
        if (sentence.empty()) return {};
        return sentence + "; test a pattern with ration try-log " + source.output.path() + " --pattern REGEX";
    }
    return source.reported || !source.warned_unread
               ? ""
               : "it has not reported its progress; let 'log' or 'metrics' of the job read it, or let the script "
                 "report it";
}

void progress_monitor::warn_of_unread_output(live_job const& job, std::uint64_t lines, nanoseconds now) {
    auto& source = sources_[job];
    bool const read = source.metrics || source.adapter ? source.reported_target : source.reported;
    if (source.warned_unread || lines == 0 || read) return;
    if (!source.first_line_at) source.first_line_at = now;
    if (lines < patient_lines && now - *source.first_line_at < first_match_within) return;
    source.warned_unread = true;
    events_.warn_once(job.config->name, "so far, " + unread_output(job), now);
}

bool progress_monitor::take(live_job const& job, progress::update const& reply, nanoseconds now) {
    auto const& body = reply.body;
    auto& progress = progress_[job.slot];
    sources_[job].reported = true;
    bool& said_done = sources_[job].said_done;
    said_done = said_done || (body.type == progress::message_type::bye && body.why == "done");
    bool const reached = progress.take(body, now);
    bool const is_step = body.type == progress::message_type::step;
    if ((is_step ? "loss" : body.metric) == job.config->target.metric) sources_[job].reported_target = true;
    if (!is_step && body.type != progress::message_type::eval) return reached;
    events_.emit(job_progress{.job = job.config->name,
                              .incarnation = reply.run.value,
                              .step = progress.step,
                              .metric = is_step ? std::string_view("loss") : body.metric,
                              .value = value_of(body),
                              .count = is_step ? body.loss_count : 1,
                              .smoothed = progress.smoothed()},
                 now);
    return reached;
}

void progress_monitor::emit_tier(live_job const& job, nanoseconds now) {
    auto const& progress = of(job);
    auto const reached_at =
        progress.tier() == two_tier_target::acceptable_tier ? progress.acceptable_at : progress.objective_at;
    events_.emit(tier_reached{.job = job.config->name,
                              .tier = progress.tier(),
                              .step = progress.step,
                              .value = progress.smoothed().value_or(0),
                              .after = reached_at.value_or(now) - job.config->at},
                 now);
}

}  // namespace ration::program
