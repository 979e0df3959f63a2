// SPDX-License-Identifier: BSL-1.0
// How the supervisor starts, stops and ends jobs.
#include "supervisor.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>

#include <ration/process/environment.hpp>
#include <ration/progress/token.hpp>

#include "error_text.hpp"

namespace ration::program {
namespace {

/// From being asked to stop to being killed.
constexpr nanoseconds grace = seconds(10);

[[nodiscard]] std::vector<std::string> declared_of(job_config const& job) {
    std::vector<std::string> entries;
    for (auto const& [name, value] : job.environment) entries.push_back(name + '=' + value);
    return entries;
}

[[nodiscard]] std::string sentence_of(process::exit_report const& how) {
    using kind = process::exit_report::kind;
    if (how.how == kind::unknown) return "ended; how is not known, since an earlier ration started it";
    if (how.how == kind::killed) return fmt::format("killed by signal {} ({})", how.number, ::strsignal(how.number));
    return how.number == 0 ? "" : fmt::format("exit code {}", how.number);
}

}  // namespace

void supervisor::start_due_jobs(nanoseconds now) {
    if (interrupted_) return;
    for (auto& job : board_.jobs())
        if (job.waiting() && job.config->at <= now) start(job, now);
}

result<std::vector<std::string>> supervisor::environment_of(live_job const& job) const {
    return process::make_environment({.inherited = process::current_environment(), .declared = declared_of(*job.config),
                                      .cpu = std::min(millicores{job.config->cpu.maximum}, parts_.node.capacity()),
                                      .job = job.config->name, .incarnation = job.run, .token = std::string(job.token.view()),
                                      .progress = "unix:" + std::string(receiver_.path())});
}

void supervisor::start(live_job& job, nanoseconds now) {
    job.run.value += 1;
    job.started_at = now;
    news_ = true;
    auto const fail = [&](error const& e) {
        job.ended_at = now;
        set_condition(job, condition::failed, to_text(e), now);
        tell(job_ended{.job = job.config->name, .epoch = job.run.value, .how = job.now, .exit_code = {}, .signal = {}, .why = job.why}, now);
    };
    auto const token = progress::random_token();
    if (!token) return fail(token.failure());
    job.token = *token;
    if (auto known = receiver_.register_job(job.id, job.config->name, job.run, job.token); !known) return fail(known.failure());
    auto environment = environment_of(job);
    if (!environment) return fail(environment.failure());
    std::string const output = parts_.output_folder + '/' + job.config->name + ".log";
    std::error_code ignored;
    std::filesystem::remove(output, ignored);
    if (job.config->memory && !parts_.node.limits_memory())
        warn_once(job.config->name, "its limit on memory is not kept: this machine's backend cannot; ration doctor says why", now);
    auto child = parts_.node.launch({job.id, job.config->name, job.token.view(), job.config->memory},
                                    {.command = job.config->command, .working_directory = job.config->directory,
                                     .environment = std::move(*environment), .output_file = output});
    if (!child) return fail(child.failure());
    job.process = std::move(child).value();
    if (auto opened = job.output.open(output); !opened) warn_once(job.config->name, to_text(opened.failure()), now);
    if (!job.config->log.empty()) {
        auto adapter = progress::log_adapter::make(job.config->log, job.id, job.run);
        if (adapter) job.adapter = std::move(adapter).value();
    }
    job.health = progress::health(now);
    set_condition(job, condition::running, "", now);
    tell(job_started{.job = job.config->name, .id = job.id, .epoch = job.run.value, .pid = job.process->pid(),
                     .command = job.config->command},
         now);
    record();
}

void supervisor::adopt(recorded_job const& recorded, nanoseconds now) {
    auto const at = std::ranges::find(board_.jobs(), recorded.name, [](live_job const& job) { return job.config->name; });
    if (at == board_.jobs().end()) return;
    auto& job = *at;
    auto attached = process::attach(recorded.pid, recorded.start_time);
    job.run.value = recorded.epoch;
    job.started_at = nanoseconds{recorded.started_ns};
    job.token = std::string_view(recorded.token);
    auto known = receiver_.register_job(job.id, job.config->name, job.run, job.token);
    if (attached && known) known = parts_.node.adopt(job.id, job.config->name, *attached, recorded.token);
    if (!attached || !known) {
        job.ended_at = now;
        return set_condition(job, condition::failed, "ended while no ration was there to see how", now);
    }
    job.process = std::move(attached).value();
    if (auto opened = job.output.open(parts_.output_folder + '/' + job.config->name + ".log"); !opened)
        warn_once(job.config->name, to_text(opened.failure()), now);
    set_condition(job, condition::running, "", now);
    parts_.out.say(fmt::format("{}: taken over from an earlier run (process {})", job.config->name, job.process->pid()));
}

void supervisor::end(live_job& job, process::exit_report const& how, nanoseconds now) {
    if (auto const seen = parts_.node.observe(job.id)) job.cpu_time = std::max(job.cpu_time, seen->cpu_time);
    job.cpu_time = std::max(job.cpu_time, how.cpu_time);
    job.ended_at = now;
    condition state = condition::failed;
    std::string why = sentence_of(how);
    if (job.now == condition::diverged || job.health.at(now) == progress::condition::diverged) {
        state = condition::diverged, why = fmt::format("its {} is no finite number any more", job.config->target.metric);
    } else if (job.asked_to_stop) {
        state = interrupted_ && job.why == "interrupted" ? condition::stopped : condition::finished, why = job.why;
    } else if (how.success() || how.how == process::exit_report::kind::unknown) {
        state = condition::finished;
    } else if (auto const line = last_line(job.output.path()); !line.empty()) {
        why += fmt::format("; its last line: {}", line);
    }
    if (auto removed = parts_.node.remove(job.id); !removed) warn_once(job.config->name, to_text(removed.failure()), now);
    engine_.release(job.id);
    receiver_.forget(job.id);
    news_ = true;
    job.now = state;
    job.why = why;
    using kind = process::exit_report::kind;
    tell(job_ended{.job = job.config->name, .epoch = job.run.value, .how = state,
                   .exit_code = how.how == kind::exited ? std::optional(how.number) : std::nullopt,
                   .signal = how.how == kind::killed ? std::optional(how.number) : std::nullopt, .step = job.step, .why = job.why},
         now);
    record();
}

void supervisor::ask_to_stop(live_job& job, std::string why, nanoseconds now) {
    if (job.asked_to_stop) return;
    job.asked_to_stop = true;
    job.why = std::move(why);
    job.kill_at = now + grace;
    if (auto asked = parts_.node.ask_to_end(job.id); !asked && asked.failure().code != errc::gone)
        warn_once(job.config->name, to_text(asked.failure()), now);
}

void supervisor::keep_deadlines(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive() || !job.kill_at || now < *job.kill_at) continue;
        job.kill_at = now + grace;
        if (auto killed = parts_.node.kill(job.id); !killed) warn_once(job.config->name, to_text(killed.failure()), now);
    }
}

void supervisor::judge_health(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive() || job.asked_to_stop) continue;
        switch (job.health.at(now)) {
            case progress::condition::diverged:
                set_condition(job, condition::diverged, fmt::format("its {} is no finite number any more", job.config->target.metric), now);
                job.now = condition::running;  // until its process has ended
                ask_to_stop(job, "diverged", now);
                break;
            case progress::condition::stalled: set_condition(job, condition::stalled, "no step and no CPU use", now); break;
            case progress::condition::silent: set_condition(job, condition::silent, "it works and has stopped reporting", now); break;
            default: set_condition(job, condition::running, "", now);
        }
    }
}

void supervisor::set_condition(live_job& job, condition state, std::string why, nanoseconds at) {
    if (job.now == state) return;
    bool const worth_telling = job.now != condition::waiting || is_over(state);
    job.now = state;
    job.why = std::move(why);
    if (worth_telling) tell(condition_changed{.job = job.config->name, .now = state, .why = job.why}, at);
}

void supervisor::record() {
    auto const self = process::read_process(::getpid());
    run_record now{.run = parts_.run, .owner = ::getpid(), .owner_start_time = self ? self->start_time : 0, .file = parts_.config.file,
                   .policy = parts_.policy_name, .memberships = parts_.node.memberships(), .began_ns = began_.count, .jobs = {}};
    for (auto const& job : board_.jobs()) {
        if (!job.alive()) continue;
        now.jobs.push_back({.name = job.config->name, .id = job.id.value, .pid = job.process->pid(),
                            .start_time = job.process->start_time(), .epoch = job.run.value, .token = std::string(job.token.view()),
                            .started_ns = job.started_at->count, .tier = job.tracker.tier()});
    }
    if (auto saved = parts_.directory.save(now); !saved) warn_once("record", to_text(saved.failure()), clock());
}

}  // namespace ration::program
