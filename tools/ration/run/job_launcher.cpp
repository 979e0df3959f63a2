// SPDX-License-Identifier: BSL-1.0
#include "run/job_launcher.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include <ration/progress/token.hpp>

#include "common/error_text.hpp"
#include "run/host_error.hpp"
#include "run/job_environment.hpp"
#include "run/job_ranks.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
std::string job_launcher::output_of(live_job const& job) const {
    return job.config->output_folder(output_folder_) + '/' + job.config->name + suffix_of_output(job) + ".log";
}

/// After a failure nothing of the incarnation is left, so that the job can be launched again.
result<void> job_launcher::launch(live_job& job, nanoseconds now) {
    auto const launched = launch_incarnation(job, now);
    job.failed_by_host = !launched && is_of_host(launched.failure(), *job.config);
    if (!launched)
        progress_.forget(job);
    else
        rests_[job].succeed();
    return launched;
}

void job_launcher::postpone(live_job& job, error const& why, nanoseconds now) {
    job.run.value -= 1;
    if (job.devices == nullptr) job.token = {};  // a later start would take it for a job that was launched
    if (job.run.value == 0) job.started_at.reset();
    job.why = "it cannot be launched now: " + to_text(why);
    rests_[job].fail(now);
    events_.warn_once(job.config->name, job.why + "; ration tries again", now);
    record_.save();
}

result<void> job_launcher::launch_incarnation(live_job& job, nanoseconds now) {
    job.run.value += 1;
    job.launched_at = now;
    scheduler_.request_tick();
    auto const token = progress::random_token();
    if (!token) return token.failure();
    job.token = *token;
    if (auto known = progress_.start_incarnation(job); !known) return known;
    if (job.devices != nullptr || job.config->saves_at_acceptable)
        if (auto ready = prepare_checkpoints(job); !ready) return ready;
    auto const assigned = assigner_.assign(job);
    if (!assigned) return assigned.failure();
    // Before the launch, since a job can write its first rows within a millisecond
    progress_.follow_metrics(job, metric_file::existing_rows::skip);
    if (auto started = start_process(job, *assigned, now); !started) return started;
    assigner_.warn_of_missing_limits(job, now);
    progress_.follow_output(job, output_of(job), now);
    health_.start_incarnation(job, now);
    bool const restarting = job.devices != nullptr && job.devices->state().is_restarting();
    set_condition(job, restarting ? condition::restarting : condition::running, "", now, events_);
    emit_start(job, command_of(job, static_cast<std::int64_t>(assigned->ranks)), *assigned, now);
    record_.save();
    return {};
}

result<void> job_launcher::start_process(live_job& job, device_assignment const& assigned, nanoseconds now) {
    auto environment = environment_of(job, assigned);
    if (!environment) return environment.failure();
    assigner_.warn_of_ways_past(job, *environment, now);
    shares_.start_incarnation(job);
    if (!job.started_at) job.started_at = now;
    warn_of_bounds(job, now);
    // That of another user is opened with the rights of that user
    auto const output = job.config->owner ? process::descriptor() : open_job_output(output_of(job));
    if (!output) return output.failure();
    job.launching = true;
    record_.save();  // the token, by which a later start finds a process that was started and not recorded yet
    auto const command = command_of(job, static_cast<std::int64_t>(assigned.ranks));
    auto child = launch_process(job,
                                {job.id, job.config->name, job.token.view(), job.config->memory, assigned.cpu,
                                 assigned.place.cpus, assigned.filter, assigned.memory},
                                {.command = command,
                                 .working_directory = job.config->directory,
                                 .environment = std::move(environment).value(),
                                 .output_file = output_of(job),
                                 .output = output->get(),
                                 .journal = directory_.launches(),
                                 .journal_entry = std::string(job.token.view()) + '\n',
                                 .user = job.config->owner ? std::optional(job.config->owner->account) : std::nullopt,
                                 .umask = job.config->umask},
                                now);
    job.launching = false;
    if (!child) return child.failure();
    job.process = std::move(child).value();
    job.placed = true;
    return {};
}

/// Those that this machine cannot keep.
void job_launcher::warn_of_bounds(live_job const& job, nanoseconds now) {
    auto const& name = job.config->name;
    auto const least = job.config->cpu.minimum;
    auto const capacity = node_.jobs().capacity().count;
    if (least > capacity)
        events_.warn_once(name,
                          fmt::format("its cpu.min of {:g} cores is more than the {:g} that all jobs share; make it "
                                      "smaller, or let ration use more CPUs",
                                      static_cast<double>(least) / 1000, static_cast<double>(capacity) / 1000),
                          now);
    if (job.config->memory && !node_.jobs().limits_memory())
        events_.warn_once(
            name, "its limit on memory is not kept: this machine's backend cannot; run ration doctor for the reason",
            now);
}

/// By the job's fork server where that is ready, which the first launch starts.
result<process::child> job_launcher::launch_process(live_job const& job, job_start const& what,
                                                    process::launch_spec const& spec, nanoseconds now) {
    if (auto* const server = servers_.ready_for(job, now)) {
        auto child = node_.launch(what, spec, server);
        if (child || child.failure().code != errc::gone) return child;
        servers_.fail(job, to_text(child.failure()), now);
    }
    auto child = node_.launch(what, spec);
    if (child) servers_.start(job, spec, now);
    return child;
}

result<std::vector<std::string>> job_launcher::environment_of(live_job const& job,
                                                              device_assignment const& assigned) const {
    auto wanted = program::environment_of(*job.config, node_.jobs().capacity(), jobs_.running_with(job));
    wanted.job = job.config->name;
    wanted.incarnation = job.run;
    wanted.token = std::string(job.token.view());
    wanted.progress = "unix:" + (job.config->owner ? job.config->owner->progress_socket : directory_.socket());
    wanted.checkpoint = job.checkpoint;
    wanted.output = output_of(job);
    wanted.cpu = std::min(wanted.cpu, assigned.cpu.value_or(wanted.cpu));
    if (assigned.cpu) wanted.share = wanted.cpu;  // CPU devices divide the machine among the jobs already
    if (!assigned.place.cpus.empty())
        wanted.cpu = std::min(wanted.cpu, millicores{std::int64_t{1000} * assigned.place.cpus.size()});
    wanted.ranks = assigned.ranks;
    wanted.devices = assigned.seen;
    wanted.batch = job.batch > 0 ? std::to_string(job.batch) : "";
    wanted.masks = assigned.masks;
    wanted.world = ranks_entries(job, static_cast<std::int64_t>(assigned.ranks));
    return process::make_environment(wanted);
}

void job_launcher::emit_start(live_job const& job, std::vector<std::string> const& command,
                              device_assignment const& assigned, nanoseconds now) {
    events_.emit(job_started{.job = job.config->name,
                             .id = job.id,
                             .incarnation = job.run.value,
                             .pid = job.child().pid(),
                             .command = command,
                             .devices = assigned.names,
                             .cpus = assigned.place.cpu_list(),
                             .placement = assigned.place.why,
                             .percent = assigned.percent},
                 now);
}

/// A job continues from the content of a folder that the user names. Ration's own one is new in each run.
result<void> job_launcher::prepare_checkpoints(live_job& job) const {
    namespace fs = std::filesystem;
    process::file_rights const rights(job.config->account());
    std::error_code failure;
    if (job.checkpoint.empty()) {
        bool const own = !job.config->elastic || job.config->elastic->checkpoint.empty();
        job.checkpoint = own ? job.config->output_folder(output_folder_) + '/' + job.config->name + ".checkpoint"
                             : fs::absolute(job.config->elastic->checkpoint).string();
    }
    fs::create_directories(job.checkpoint, failure);
    if (!failure) return {};
    return error{.code = errc::io,
                 .operation = "make the folder for checkpoints",
                 .subject = std::string_view(job.checkpoint),
                 .system = failure.value(),
                 .remedy = "name another one: checkpoint = \"folder\""};
}

}  // namespace ration::program
