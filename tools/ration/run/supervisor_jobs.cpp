// SPDX-License-Identifier: BSL-1.0
// How the supervisor starts jobs, and what it does when they have ended. How it stops them: supervisor_stop.cpp.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <iterator>

#include <ration/process/environment.hpp>
#include <ration/progress/token.hpp>

#include "common/error_text.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

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

/// Whether it has ended as a program does that is told to: well, or by SIGTERM, of which launchers make exit code 143.
[[nodiscard]] bool obeyed(process::exit_report const& how) noexcept {
    using kind = process::exit_report::kind;
    return how.how == kind::unknown || how.success() ||
           how.number == (how.how == kind::killed ? SIGTERM : 128 + SIGTERM);
}

/// `shortage`: of memory, as a sentence, or empty. The kernel's SIGKILL for it is not worth a mention beside it.
[[nodiscard]] std::string trouble_of(live_job const& job, process::exit_report const& how,
                                     std::string const& shortage) {
    bool const by_kernel =
        how.how == process::exit_report::kind::killed && how.number == SIGKILL && shortage.starts_with("out");
    std::string out = by_kernel ? shortage : sentence_of(how);
    if (!shortage.empty() && !by_kernel) out += "; " + shortage;
    auto const line = last_line(job.output.path());
    return line.empty() ? out : fmt::format("{}; its last line: {}", out, line);
}

}  // namespace

void supervisor::start_due_jobs(nanoseconds now) {
    if (interrupted_) return;
    if (board_.arrive(now)) news_ = true;
    for (auto& job : board_.jobs())
        // The others when they get devices
        if (job.waiting() && board_.arrived(job) && job.devices == nullptr) start(job, now);
}

result<std::vector<std::string>> supervisor::environment_of(live_job const& job) const {
    process::environment_request wanted{.inherited = process::current_environment(),
                                        .declared = declared_of(*job.config),
                                        .cpu = std::min(millicores{job.config->cpu.maximum}, parts_.node.capacity()),
                                        .job = job.config->name,
                                        .incarnation = job.run,
                                        .token = std::string(job.token.view()),
                                        .progress = "unix:" + std::string(receiver_.path())};
    wanted.checkpoint = job.checkpoint;
    if (job.devices == nullptr) return process::make_environment(wanted);
    auto const names = names_of(job.devices->devices());
    auto masks = parts_.devices.masks(names);
    if (!masks) return masks.failure();
    std::ranges::move(share_environment(job), std::back_inserter(*masks));
    wanted.cpu = std::min(wanted.cpu, cpu_of_devices(names.size()).value_or(wanted.cpu));
    if (!job.place.cpus.empty())
        wanted.cpu = std::min(wanted.cpu, millicores{std::int64_t{1000} * job.place.cpus.size()});
    wanted.ranks = elastic_.table().ranks(job.devices->devices());
    wanted.devices = elastic_.table().seen(job.devices->devices());
    wanted.batch = job.batch > 0 ? std::to_string(job.batch) : "";
    wanted.masks = std::move(masks).value();
    return process::make_environment(wanted);
}

void supervisor::start(live_job& job, nanoseconds now) {
    if (auto const launched = launch(job, now); !launched) cannot_start(job, to_text(launched.failure()), now);
}

void supervisor::cannot_start(live_job& job, std::string why, nanoseconds now) {
    job.ended_at = now;
    set_condition(job, condition::failed, std::move(why), now);
    emit(job_ended{.job = job.config->name,
                   .incarnation = job.run.value,
                   .how = job.now,
                   .exit_code = {},
                   .signal = {},
                   .why = job.why},
         now);
    record();  // else a later run would take it for one that was never started
}

/// `{devices}` in a word of the command is the number of those that it sees.
[[nodiscard]] static std::vector<std::string> command_of(live_job const& job, device_table const& table) {
    auto words = job.config->command;
    if (job.devices == nullptr) return words;
    constexpr std::string_view mark = "{devices}";
    for (auto& word : words)
        for (auto at = word.find(mark); at != std::string::npos; at = word.find(mark, at))
            word.replace(at, mark.size(), std::to_string(table.ranks(job.devices->devices())));
    return words;
}

/// Of a job that does not report by itself.
static void read_output(live_job& job) {
    if (job.config->log.empty()) return;
    if (auto adapter = progress::log_adapter::make(job.config->log, job.id, job.run))
        job.adapter = std::move(adapter).value();
}

result<void> supervisor::launch(live_job& job, nanoseconds now) {
    job.run.value += 1;
    job.launched_at = now;
    news_ = true;
    auto const token = progress::random_token();
    if (!token) return token.failure();
    job.token = *token;
    if (auto known = receiver_.register_job(job.id, job.config->name, job.run, job.token); !known)
        return known.failure();
    if (job.devices != nullptr || job.config->saves_at_acceptable)
        if (auto ready = prepare_checkpoints(job); !ready) return ready;
    if (placement_ && job.devices != nullptr) job.place = placement_->settle(job.id, job.devices->devices());
    auto environment = environment_of(job);
    if (!environment) return environment.failure();
    warn_of_ways_past(job, *environment, now);
    job.share = {};
    std::string const output = parts_.output_folder + '/' + job.config->name + ".log";
    std::error_code ignored;
    // A later launch goes on where the earlier one stopped
    if (!job.started_at) std::filesystem::remove(output, ignored);
    if (!job.started_at) job.started_at = now;
    if (job.config->memory && !parts_.node.limits_memory())
        warn_once(job.config->name,
                  "its limit on memory is not kept: this machine's backend cannot; ration doctor says why", now);
    job.launching = true;
    record();  // the token, by which a later start finds a process that was started and not written down yet
    auto const command = command_of(job, elastic_.table());
    auto const cpu = job.devices != nullptr ? cpu_of_devices(job.devices->devices().size()) : std::nullopt;
    std::span<std::uint32_t const> const holds =
        job.devices != nullptr ? std::span(job.devices->devices()) : std::span<std::uint32_t const>();
    auto child = parts_.node.launch({job.id, job.config->name, job.token.view(), job.config->memory, cpu,
                                     job.place.cpus, filter_of(job, holds), gpu_memory_of(job, holds)},
                                    {.command = command,
                                     .working_directory = job.config->directory,
                                     .environment = std::move(*environment),
                                     .output_file = output,
                                     .journal = parts_.directory.launches(),
                                     .journal_entry = std::string(job.token.view()) + '\n'});
    job.launching = false;
    if (!child) return child.failure();
    job.process = std::move(child).value();
    job.placed = true;
    emit_limits(job, now);
    if (job.output.path().empty())
        if (auto opened = job.output.open(output); !opened) warn_once(job.config->name, to_text(opened.failure()), now);
    read_output(job);
    job.health = progress::health(now);
    set_condition(job,
                  job.devices != nullptr && job.devices->is_restarting() ? condition::restarting : condition::running,
                  "", now);
    report_start(job, command, now);
    record();
    return {};
}

void supervisor::report_start(live_job const& job, std::vector<std::string> const& command, nanoseconds now) {
    emit(job_started{.job = job.config->name,
                     .id = job.id,
                     .incarnation = job.run.value,
                     .pid = job.process->pid(),
                     .command = command,
                     .devices = job.devices != nullptr ? elastic_.table().names(job.devices->devices()) : "",
                     .cpus = job.place.cpu_list(),
                     .placement = job.place.why,
                     .percent = percent_of(job)},
         now);
}

void supervisor::reattach_run(orphaned_run const& run) {
    board_.arrive(clock());
    for (std::size_t i = 0; i < run.record.jobs.size(); ++i) reattach(run.record.jobs[i], run.traces[i], clock());
    record();  // from here on this process is the owner, and its groups are the jobs'
}

void supervisor::reattach(recorded_job const& recorded, job_traces const& traces, nanoseconds now) {
    auto const at =
        std::ranges::find(board_.jobs(), recorded.name, [](live_job const& job) { return job.config->name; });
    if (at == board_.jobs().end()) return;
    auto& job = *at;
    job.run.value = recorded.incarnation;
    if (!traces.has_first) end_remaining(job, recorded, traces, now);
    // The intent was written down, and no launch followed
    if (job.devices == nullptr && recorded.launching && !traces.launched) {
        job.run.value -= 1;
        return;
    }
    job.started_at = job.launched_at = std::min(nanoseconds{recorded.started_ns}, now);
    job.token = std::string_view(recorded.token);
    if (job.devices != nullptr && !recorded.is_over()) return reattach_devices(job, recorded, traces, now);
    if (recorded.is_over()) {
        job.ended_at = now;
        return set_condition(job, recorded.how.value_or(condition::failed), recorded.why, now);
    }
    if (!traces.has_first || !reattach_process(job, recorded)) {
        job.ended_at = now;
        return set_condition(job, condition::failed, "ended while no ration was there to see how", now);
    }
    set_condition(job, condition::running, "", now);
    parts_.out.print(
        fmt::format("{}: taken over from an earlier run (process {})", job.config->name, job.process->pid()));
}

/// Ends what a first process that has ended, or was never written down, has left running.
void supervisor::end_remaining(live_job const& job, recorded_job const& recorded, job_traces const& traces,
                               nanoseconds now) {
    if (traces.processes.empty()) return;
    warn_once(job.config->name, fmt::format("ended {} running", text_of(traces)), now);
    for (auto const& one : traces.processes)  // one in the job's group may lack the token
        if (auto held = process::attach(one.pid, one.start_time); held) static_cast<void>(held->signal(SIGKILL));
    if (auto const gone = process::kill_marked(process::mark_of(recorded.token)); !gone)
        warn_once(job.config->name, to_text(gone.failure()), now);
}

result<void> supervisor::reattach_process(live_job& job, recorded_job const& recorded) {
    auto attached = process::attach(recorded.pid, recorded.start_time);
    if (!attached) return attached.failure();
    if (auto known = receiver_.register_job(job.id, job.config->name, job.run, job.token); !known) return known;
    auto const holds = numbers_of(recorded.holds, clock());
    if (auto placed = parts_.node.reattach({.job = job.id,
                                            .name = job.config->name,
                                            .token = recorded.token,
                                            .memory = {},
                                            .gpus = filter_of(job, holds),
                                            .gpu_memory = gpu_memory_of(job, holds)},
                                           *attached);
        !placed)
        return placed;
    emit_limits(job, clock());
    job.placed = true;
    job.process = std::move(attached).value();
    if (auto opened = job.output.open(parts_.output_folder + '/' + job.config->name + ".log"); !opened)
        warn_once(job.config->name, to_text(opened.failure()), clock());
    read_output(job);  // from its first line on
    return {};
}

void supervisor::end(live_job& job, process::exit_report const& how, nanoseconds now) {
    if (auto const seen = parts_.node.observe(job.id)) job.cpu_time = std::max(job.cpu_time, seen->cpu_time);
    condition state = condition::failed;
    std::string why = sentence_of(how);
    auto const trouble = trouble_of(job, how, parts_.node.memory_shortage_of(job.id));
    if (job.now == condition::diverged || job.health.at(now) == progress::condition::diverged) {
        state = condition::diverged;
        why = fmt::format("its {} is no finite number any more", job.config->target.metric);
    } else if (!job.refused.empty()) {
        why = job.refused;
    } else if (job.stopping != stop_reason::none) {
        bool const interrupted = job.stopping == stop_reason::interrupted;
        state = interrupted ? condition::stopped : condition::finished;
        why = std::string(name_of(job.stopping));
        if (!interrupted && !obeyed(how)) why += ", then " + trouble;
    } else if (how.success() || how.how == process::exit_report::kind::unknown) {
        state = condition::finished;
    } else {
        why = job.reported_done ? "it said that it was done, then " + trouble : trouble;
    }
    over(job, state, std::move(why), how, now);
}

void supervisor::over(live_job& job, condition how, std::string why, process::exit_report const& report,
                      nanoseconds now) {
    leave_place(job, now);
    using delivering = delivery::phase;
    if (job.model.now != delivering::none && job.model.now != delivering::done)
        warn_once(job.config->name,
                  "its model at Acceptable is not delivered: it has reported no checkpoint since then", now);
    job.probe.reset();  // what it waited for was another thing
    if (job.devices != nullptr) job.devices->ended(has_left_devices(job, now), now);
    engine_.release(job.id);
    receiver_.forget(job.id);
    news_ = true;
    job.ended_at = now;
    job.now = how;
    job.why = std::move(why);
    using kind = process::exit_report::kind;
    emit(job_ended{.job = job.config->name,
                   .incarnation = job.run.value,
                   .how = how,
                   .exit_code = report.how == kind::exited ? std::optional(report.number) : std::nullopt,
                   .signal = report.how == kind::killed ? std::optional(report.number) : std::nullopt,
                   .step = job.step,
                   .why = job.why},
         now);
    record();
}

/// What is left of its processes is ended, and its place with the backend removed: until that succeeds it has one.
void supervisor::leave_place(live_job& job, nanoseconds now) {
    if (!job.placed) return;
    auto const removed = parts_.node.remove(job.id);
    job.placed = !removed && removed.failure().code != errc::not_found;
    if (!removed) warn_once(job.config->name, to_text(removed.failure()), now);
    end_strays(job, now);
}

void supervisor::classify_health(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive() || job.stopping != stop_reason::none) continue;
        if (job.devices != nullptr && job.devices->is_restarting()) continue;  // it has deadlines of its own
        switch (job.health.at(now)) {
            case progress::condition::diverged:
                set_condition(job, condition::diverged,
                              fmt::format("its {} is no finite number any more", job.config->target.metric), now);
                job.now = condition::running;                                       // until its process has ended
                if (begin_to_end(job, stop_reason::diverged)) terminate(job, now);  // what it would save is of no use
                break;
            case progress::condition::stalled:
                set_condition(job, condition::stalled, "no step and no CPU use", now);
                break;
            case progress::condition::silent:
                set_condition(job, condition::silent, "it works and has stopped reporting", now);
                break;
            default: set_condition(job, condition::running, "", now);
        }
    }
}

void supervisor::set_condition(live_job& job, condition state, std::string why, nanoseconds at) {
    if (job.now == state) return;
    bool const worth_telling = job.now != condition::waiting || is_over(state);
    job.now = state;
    job.why = std::move(why);
    if (worth_telling) emit(condition_changed{.job = job.config->name, .now = state, .why = job.why}, at);
}

void supervisor::record() {
    auto const self = process::read_process(::getpid());
    auto const now = clock();
    run_record all{.run = parts_.run,
                   .owner = ::getpid(),
                   .owner_start_time = self ? self->start_time : 0,
                   .file = parts_.config.file,
                   .policy = parts_.policy_name,
                   .memberships = parts_.node.memberships(),
                   .boot = this_boot(),
                   .pid_namespace = this_pid_namespace(),
                   .written_ns = (began_ + now).count,
                   .clock_ns = now.count,
                   .jobs = {}};
    for (auto const& job : board_.jobs()) {
        if (!job.over() && job.run.value == 0) continue;
        auto& row = all.jobs.emplace_back(recorded_job{.name = job.config->name,
                                                       .id = job.id.value,
                                                       .incarnation = job.run.value,
                                                       .token = std::string(job.token.view()),
                                                       .launching = job.launching,
                                                       .started_ns = job.started_at ? job.started_at->count : 0,
                                                       .tier = job.tracker.tier(),
                                                       .definition = job.config->definition});
        if (job.alive()) {
            row.pid = job.process->pid();
            row.start_time = job.process->start_time();
        }
        if (job.over()) {
            row.phase = resize_phase::over;
            row.how = job.now;
            row.why = job.why;
        } else if (job.devices != nullptr)
            record_devices(job, row);
    }
    if (auto saved = parts_.directory.save(all); !saved) warn_once("record", to_text(saved.failure()), now);
}

}  // namespace ration::program
