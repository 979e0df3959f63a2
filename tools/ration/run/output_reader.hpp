// SPDX-License-Identifier: BSL-1.0
/// The output of a job, or its file with metrics, read in small pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <ration/progress/log_adapter.hpp>

#include "run/event_sink.hpp"
#include "run/metric_file.hpp"
#include "run/output_tail.hpp"

namespace ration::program {

/// If lines come faster than they are matched, those in between are skipped and their bytes are counted. Rows of files
/// are late instead, since later ones depend on them.
class output_reader {
    std::optional<progress::log_adapter> adapter_;  // of a job that reports by its output
    std::optional<metric_file> metrics_;            // of a job that reports by a file
    output_tail output_;
    std::uint64_t most_behind_ = 0;        // bytes that may be unread
    std::uint64_t skipped_ = 0;            // bytes
    bool behind_ = false;                  // there may be more to read
    std::optional<nanoseconds> ended_at_;  // its process
    bool warned_values_ = false, warned_speed_ = false;

public:
    using handler = std::function<void(progress::update const&)>;

    /// Opens the output unless it is open. Errors: those of `output_tail::open`.
    [[nodiscard]] result<void> open(std::string const& path);
    /// Reads the output by the patterns of the job.
    void follow_log(job_config const& job, job_id id, incarnation_id run);
    /// Reads the file with metrics. `existing`: as for `metric_file`.
    void follow_metrics(job_config const& job, job_id id, incarnation_id run, metric_file::existing_rows existing);

    [[nodiscard]] std::string const& path() const noexcept { return output_.path(); }
    /// Whether the job reports by its output or a file.
    [[nodiscard]] bool reports() const noexcept { return adapter_ || metrics_; }
    /// Lines or rows up to now.
    [[nodiscard]] std::uint64_t lines() const noexcept {
        return metrics_ ? metrics_->rows() : adapter_->counts().lines;
    }

    /// Whether `read` should be called again soon.
    [[nodiscard]] bool is_behind() const noexcept { return behind_; }
    /// There may be something new to read.
    void expect_more() noexcept { behind_ = reports(); }
    /// Passes the updates of a line of the output, or of a piece of the file. False: nothing was left. O(64 KiB), and a
    /// search for the file. Pre: `reports()`.
    bool read(job_config const& job, nanoseconds now, handler const& handle);
    /// After some reading: skips what came too fast, and warns of all that is not read.
    void check(job_config const& job, event_sink& events, nanoseconds now);

    /// The process of the job has ended, by `now` at the latest.
    void process_ended(nanoseconds now) noexcept;
    /// Then: true while there is more to read. After two seconds all but the last lines is skipped, after four
    /// everything.
    [[nodiscard]] bool is_read_at_end(nanoseconds now);
    /// Then passes a last line without an end, if it is whole.
    void finish(bool is_whole, handler const& handle);
    /// Another process of the job follows.
    void end_incarnation() noexcept { ended_at_.reset(); }

    /// A sentence on output or rows that did not give the metric of the target, or not all values of it; otherwise
    /// empty. `reported`: whether the metric was read.
    [[nodiscard]] std::string unread(job_config const& job, bool reported) const;

private:
    [[nodiscard]] std::uint64_t unread_bytes() const noexcept {
        return metrics_ ? metrics_->unread_bytes() : output_.unread();
    }
    void skip_to_last(std::uint64_t bytes) noexcept;
    [[nodiscard]] std::string skipped_sentence() const;
    void warn_of_values(job_config const& job, event_sink& events, nanoseconds now);
};

}  // namespace ration::program
