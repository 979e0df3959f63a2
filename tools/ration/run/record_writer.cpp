// SPDX-License-Identifier: BSL-1.0
#include "run/record_writer.hpp"

#include <optional>
#include <unistd.h>
#include <utility>

#include <ration/process/proc.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::int64_t count_of(std::optional<nanoseconds> at) noexcept { return at ? at->count : 0; }

}  // namespace

record_writer::record_writer(run_record head, run_clock clock, run_directory& directory, job_table const& jobs,
                             progress_monitor const& progress, command_channel const& commands,
                             device_table const& table, event_sink& events)
    : head_(std::move(head)), clock_(clock), directory_(directory), jobs_(jobs), progress_(progress),
      commands_(commands), table_(table), events_(events) {
    auto const self = process::read_process(::getpid());
    head_.owner = ::getpid();
    head_.owner_start_time = self ? self->start_time : 0;
    head_.boot = this_boot();
    head_.pid_namespace = this_pid_namespace();
}

void record_writer::save() {
    if (!is_complete_) return;
    auto const now = clock_.now();
    run_record all = head_;
    all.written_ns = (clock_.began + now).count;
    all.clock_ns = now.count;
    for (auto const& job : jobs_.jobs())
        if (!job.forgotten && (job.over() || job.has_launch())) all.jobs.push_back(row_of(job));
    if (auto saved = directory_.save(all); !saved) events_.warn_once("record", to_text(saved.failure()), now);
}

recorded_job record_writer::row_of(live_job const& job) const {
    auto const& progress = progress_.of(job);
    recorded_job row{.name = job.config->name,
                     .id = job.id.value,
                     .incarnation = job.run.value,
                     .token = std::string(job.token.view()),
                     .launching = job.launching,
                     .started_ns = count_of(job.started_at),
                     .acceptable_ns = count_of(progress.acceptable_at),
                     .objective_ns = count_of(progress.objective_at),
                     .ended_ns = count_of(job.ended_at),
                     .tier = progress.tier(),
                     .definition = job.config->definition};
    if (job.alive()) {
        row.pid = job.child().pid();
        row.start_time = job.child().start_time();
    }
    if (job.over()) {
        row.phase = resize_phase::over;
        row.how = job.now;
        row.why = job.why;
    } else if (job.devices != nullptr) {
        add_devices(job, row);
    }
    return row;
}

void record_writer::add_devices(live_job const& job, recorded_job& into) const {
    auto const s = job.devices->state().record();
    into.phase = s.now;
    into.holds = names_of(table_.devices(), s.holds);
    into.next = names_of(table_.devices(), s.next);
    into.origin = names_of(table_.devices(), s.origin);
    into.wanted = s.wanted;
    into.batch = s.batch;
    into.launched_batch = job.batch;
    into.falls_back = s.falls_back;
    into.returning = s.returning;
    into.has_saved = s.has_saved;
    into.finishing = s.finishing;
    into.cost = s.cost;
    into.control = commands_.address(job);
    into.checkpoint = job.checkpoint;
}

}  // namespace ration::program
