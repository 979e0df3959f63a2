// SPDX-License-Identifier: BSL-1.0
#include "run/progress_monitor.hpp"

#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

/// Output without progress is normal at the start of a job, and a mistake in `log` afterwards.
constexpr std::uint64_t patient_lines = 200;
constexpr nanoseconds first_match_within = seconds(30);

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
    if (job.config->metrics) sources_[job].output.follow_metrics(*job.config, job.id, job.run, existing);
}

void progress_monitor::follow_output(live_job const& job, std::string const& path, nanoseconds now) {
    process::file_rights const rights(job.config->account());
    auto& output = sources_[job].output;
    if (auto opened = output.open(path); !opened) events_.warn_once(job.config->name, to_text(opened.failure()), now);
    if (!job.config->log.empty()) output.follow_log(*job.config, job.id, job.run);
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
    std::vector<user_turns::item> readers;
    for (auto const& job : jobs_.jobs()) {
        if (job.waiting() || job.over() || job.forgotten) continue;
        auto& output = sources_[job].output;
        output.expect_more();
        if (output.reports())
            readers.push_back({job.config->owner ? job.config->owner->account.uid : ::geteuid(), job.slot});
        else if (job.alive() && job.config->must_report)
            warn_of_unread_output(job, 1, now);
    }
    auto const jobs = jobs_.jobs();
    turns_.divide(readers, now,
                  [&](std::size_t slot) { return sources_[jobs[slot]].output.read(*jobs[slot].config, now, handle); });
    behind_ = false;
    for (auto const& [user, slot] : readers) {
        auto& output = sources_[jobs[slot]].output;
        behind_ |= output.is_behind();
        output.check(*jobs[slot].config, events_, now);
        warn_of_unread_output(jobs[slot], output.lines(), now);
    }
}

void progress_monitor::finish(live_job const& job, process::exit_report const& how, nanoseconds now,
                              handler const& handle) {
    auto& output = sources_[job].output;
    if (!output.reports()) return;
    output.finish(wrote_all(how), handle);
    output.check(*job.config, events_, now);
}

std::string progress_monitor::unread_output(live_job const& job) const {
    auto const& source = sources_[job];
    if (source.output.reports()) return source.output.unread(*job.config, source.reported_target);
    return source.reported || !source.warned_unread
               ? ""
               : "it has not reported its progress; let 'log' or 'metrics' of the job read it, or let the script "
                 "report it";
}

void progress_monitor::warn_of_unread_output(live_job const& job, std::uint64_t lines, nanoseconds now) {
    auto& source = sources_[job];
    bool const read = source.output.reports() ? source.reported_target : source.reported;
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
    auto const& target = job.config->target;
    if (!target.is_given() || (is_step ? "loss" : body.metric) == target.metric) sources_[job].reported_target = true;
    if (!is_step && body.type != progress::message_type::eval) return reached;
    events_.emit(job_progress{.job = job.config->name,
                              .incarnation = reply.run.value,
                              .step = progress.step,
                              .metric = is_step ? std::string_view("loss") : body.metric,
                              .value = is_step ? body.loss_mean : body.value,
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
