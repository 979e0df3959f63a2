// SPDX-License-Identifier: BSL-1.0
/// Reads the reports of all jobs, from the progress socket, and from the output and the files of jobs without a
/// protocol.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/progress/receiver.hpp>

#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/level_events.hpp"
#include "run/node_backend.hpp"
#include "run/output_reader.hpp"
#include "run/per_job.hpp"
#include "run/training_progress.hpp"
#include "run/user_turns.hpp"

namespace ration::program {

class progress_monitor {
    struct source {
        output_reader output;
        std::optional<nanoseconds>
            first_line_at;  // of the output or the file, when it was read; without both the launch
        bool warned_unread = false;
        bool reported = false;         // in any incarnation
        bool reported_target = false;  // the metric of the target, in any incarnation
        bool said_done = false;        // in this incarnation
    };
    progress::receiver receiver_;
    std::string folder_;
    job_table& jobs_;
    node_backend& node_;
    event_sink& events_;
    per_job<source> sources_;
    std::vector<training_progress> progress_;  // by slot
    user_turns turns_;
    bool behind_ = false;  // there is output that was not read for want of time

public:
    using handler = std::function<void(progress::update const&)>;

    /// `folder`: of the run, where its jobs take commands.
    progress_monitor(progress::receiver receiver, std::string folder, job_table& jobs, node_backend& node,
                     event_sink& events);

    /// A job that was added to the table.
    void add(live_job const& job);
    /// Accepts messages of the job's present incarnation from now on. Errors: those of
    /// `progress::receiver::register_job`.
    [[nodiscard]] result<void> start_incarnation(live_job const& job);
    /// Reads the file with metrics of a job that has one. `existing`: whether rows that the file has now are of this
    /// incarnation.
    void follow_metrics(live_job const& job, metric_file::existing_rows existing);
    /// Reads the output of a job that was launched, if it does not report by itself.
    void follow_output(live_job const& job, std::string const& path, nanoseconds now);
    /// An earlier run has seen the job reach these tiers, and its reports are read again.
    void restore_tiers(live_job const& job, std::optional<nanoseconds> acceptable_at,
                       std::optional<nanoseconds> objective_at) noexcept {
        progress_[job.slot].acceptable_at = acceptable_at;
        progress_[job.slot].objective_at = objective_at;
    }
    /// The process of the job has ended.
    void end_incarnation(live_job const& job, nanoseconds now) {
        sources_[job].output.end_incarnation();
        progress_[job.slot].end_incarnation(now);
    }
    /// The job has ended; later messages are those of an unknown job.
    void forget(live_job const& job) { receiver_.forget(job.id); }

    /// Passes each update that was accepted to `handle`. Never waits. Users share a few milliseconds of each turn for
    /// reading output; the rest is left for later turns. `now`: of the turn.
    void read(nanoseconds now, handler const& handle);
    /// The process of the job has ended, by `now` at the latest.
    void process_ended(live_job const& job, nanoseconds now) { sources_[job].output.process_ended(now); }
    /// Then: true while its output is to be read for its last values, a few seconds at most.
    [[nodiscard]] bool is_read_at_end(live_job const& job, nanoseconds now) {
        return sources_[job].output.is_read_at_end(now);
    }
    /// Then, as the process has ended so: a last line without an end counts, unless a signal or an unwritten buffer can
    /// have cut it.
    void finish(live_job const& job, process::exit_report const& how, nanoseconds now, handler const& handle);
    /// Updates the progress of the job and emits the report. True if the job reached a tier.
    bool take(live_job const& job, progress::update const& reply, nanoseconds now);
    void emit_tier(live_job const& job, nanoseconds now);
    /// Moves the window of a level on, and emits whether the level was lost or holds again.
    void update_level(live_job const& job, nanoseconds now) {
        program::update_level(job, progress_[job.slot], events_, now);
    }

    /// Adds what is to be polled for reading. Returns when to read at the latest.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds, nanoseconds now) const {
        auto const until = receiver_.join(now, [&](int fd) { fds.push_back({fd, POLLIN, 0}); });
        return behind_ ? std::min(until, now + user_turns::longest) : until;  // as long for everything else
    }
    [[nodiscard]] std::string_view path() const noexcept { return receiver_.path(); }
    [[nodiscard]] progress::totals const& counts() const noexcept { return receiver_.counts(); }
    [[nodiscard]] bool reads_output_of(live_job const& job) const noexcept { return sources_[job].output.reports(); }
    [[nodiscard]] std::string const& output_of(live_job const& job) const noexcept {
        return sources_[job].output.path();
    }
    /// A sentence on a job whose output or file did not give the metric of its target, although `log` or `metrics`
    /// reads it, or that has neither and did not report for a while; otherwise empty.
    [[nodiscard]] std::string unread_output(live_job const& job) const;
    /// Whether the present incarnation has reported that its training is done.
    [[nodiscard]] bool said_done(live_job const& job) const noexcept { return sources_[job].said_done; }
    [[nodiscard]] training_progress const& of(live_job const& job) const noexcept { return progress_[job.slot]; }
    /// By slot of the job table. Valid until a job is added.
    [[nodiscard]] std::span<training_progress const> all() const noexcept { return progress_; }

private:
    void read_outputs(nanoseconds now, handler const& handle);
    void warn_of_unread_output(live_job const& job, std::uint64_t lines, nanoseconds now);
};

}  // namespace ration::program
