// SPDX-License-Identifier: BSL-1.0
#include "run/progress_monitor.hpp"

#include <fmt/core.h>
#include <utility>

#include "common/error_text.hpp"

namespace ration::program {

progress_monitor::progress_monitor(progress::receiver receiver, job_table& jobs, node_backend& node, event_sink& events)
    : receiver_(std::move(receiver)), jobs_(jobs), node_(node), events_(events), sources_(jobs.jobs().size()),
      progress_(initial_progress(jobs.jobs())) {}

result<void> progress_monitor::start_incarnation(live_job const& job) {
    sources_[job].said_done = false;
    return receiver_.register_job(job.id, job.config->name, job.run, job.token);
}

void progress_monitor::follow_output(live_job const& job, std::string const& path, nanoseconds now) {
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
    read_outputs(handle);
}

void progress_monitor::read_outputs(handler const& handle) {
    for (auto const& job : jobs_.jobs()) {
        auto& source = sources_[job];
        if (!source.adapter || job.waiting()) continue;
        for (auto text = source.output.read(); !text.empty(); text = source.output.read())
            source.adapter->feed(text, handle);
    }
}

bool progress_monitor::take(live_job const& job, progress::update const& reply, nanoseconds now) {
    auto const& body = reply.body;
    auto& progress = progress_[job.row];
    bool& said_done = sources_[job].said_done;
    said_done = said_done || (body.type == progress::message_type::bye && body.why == "done");
    bool const reached = progress.take(body, now);
    bool const is_step = body.type == progress::message_type::step;
    if (!is_step && body.type != progress::message_type::eval) return reached;
    events_.emit(job_progress{.job = job.config->name,
                              .incarnation = reply.run.value,
                              .step = progress.step,
                              .metric = is_step ? std::string_view("loss") : body.metric,
                              .value = is_step ? body.loss_mean : body.value,
                              .count = is_step ? body.loss_count : 1,
                              .smoothed = progress.tracker.smoothed()},
                 now);
    return reached;
}

void progress_monitor::emit_tier(live_job const& job, nanoseconds now) {
    auto const& progress = of(job);
    events_.emit(tier_reached{.job = job.config->name,
                              .tier = progress.tracker.tier(),
                              .step = progress.step,
                              .value = progress.tracker.smoothed().value_or(0),
                              .after = now - job.config->at},
                 now);
}

}  // namespace ration::program
