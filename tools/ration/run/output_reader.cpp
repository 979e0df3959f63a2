// SPDX-License-Identifier: BSL-1.0
#include "run/output_reader.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <utility>

#include "common/printable.hpp"
#include "config/log.hpp"

namespace ration::program {
namespace {

constexpr std::uint64_t many_values = 10;    // that cannot be read, and are worth a warning
constexpr std::size_t most_of_a_line = 120;  // bytes of a line in a warning

/// Output that comes faster than it is matched would never be caught up with.
constexpr std::uint64_t most_behind = std::uint64_t{16} << 20, kept_behind = std::uint64_t{1} << 20;
/// After the end of a process for all that is left, and with the last lines.
constexpr nanoseconds time_at_end = seconds(2), most_time_at_end = seconds(4);
constexpr std::uint64_t last_lines = 2 * progress::line_reader::max_line;

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
[[nodiscard]] std::string unread_log(progress::log_adapter const& adapter, job_config const& job,
                                     std::string const& path) {
    auto const& counts = adapter.counts();
    auto const& [group, text] = adapter.unreadable();
    if (counts.lines == 0) return {};
    auto const advice = "; test a pattern with ration try-log " + path + " --pattern REGEX";
    if (group == job.target.metric || (counts.reported == 0 && !group.empty()))
        return fmt::format("'log' matched {} line{} of its output, but group '{}' has the text {}, not a number{}",
                           counts.matched, counts.matched == 1 ? "" : "s", group, quoted(text), advice);
    if (counts.reported > 0)
        return fmt::format("'log' read {} from its output by the pattern {}{}", no_metric(job.target.metric),
                           quoted(*std::ranges::find_if(
                               job.log, [&](std::string const& one) { return has_group(one, job.target.metric); })),
                           advice);
    auto const line = adapter.unread_line().substr(0, most_of_a_line);
    return "'log' read nothing from its output" + (line.empty() ? "" : ", whose last line is " + quoted(line)) + advice;
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

}  // namespace

result<void> output_reader::open(std::string const& path) {
    if (!output_.path().empty()) return {};
    auto opened = output_.open(path);
    most_behind_ = most_behind + output_.unread();  // of an earlier run, which was not behind
    return opened;
}

void output_reader::follow_log(job_config const& job, job_id id, incarnation_id run) {
    if (auto adapter = progress::log_adapter::make(job.log, id, run)) adapter_ = std::move(adapter).value();
}

void output_reader::follow_metrics(job_config const& job, job_id id, incarnation_id run,
                                   metric_file::existing_rows existing) {
    metrics_.emplace(*job.metrics, job.directory, id, run, existing);
}

bool output_reader::read(job_config const& job, nanoseconds now, handler const& handle) {
    if (metrics_) {
        process::file_rights const rights(job.account());
        behind_ = ended_at_ ? metrics_->poll_last(handle) : metrics_->poll(now, handle);
    } else {
        auto const text = output_.read();
        output_.take(adapter_->feed_line(text, handle));
        behind_ = !text.empty();
    }
    return behind_;
}

void output_reader::check(job_config const& job, event_sink& events, nanoseconds now) {
    if (!behind_) most_behind_ = most_behind;
    bool const is_late = behind_ && unread_bytes() > most_behind_;
    if (is_late && !metrics_) skip_to_last(kept_behind);
    if ((is_late || skipped_ > 0) && !std::exchange(warned_speed_, true))
        events.warn_once(job.name,
                         skipped_ > 0 ? skipped_sentence()
                                      : "its rows come faster than 'metrics' reads them, so that values are late; "
                                        "write fewer rows",
                         now);
    if (metrics_) {
        if (!metrics_->problem().empty()) events.warn_once(job.name, metrics_->problem(), now);
        return;
    }
    auto const& counts = adapter_->counts();
    if (counts.overlong > 0)
        events.warn_once(job.name,
                         fmt::format("its output has lines over {} bytes, which 'log' does not read; print shorter "
                                     "lines",
                                     progress::line_reader::max_line),
                         now);
    if (counts.costly > 0)
        events.warn_once(job.name,
                         "'log' skips lines of its output that are too costly to search; use simpler patterns", now);
    warn_of_values(job, events, now);
}

void output_reader::warn_of_values(job_config const& job, event_sink& events, nanoseconds now) {
    auto const& metric = job.target.metric;
    auto const counts = adapter_->counts_of(metric);
    if (counts.read == 0 || !lost_many(counts) || std::exchange(warned_values_, true)) return;
    events.warn_once(job.name, "so far, " + unread_values("log", metric, counts, adapter_->unreadable()), now);
}

void output_reader::skip_to_last(std::uint64_t bytes) noexcept {
    auto const skipped = output_.skip_to_last(bytes);
    if (skipped > 0) adapter_->skip_line();
    skipped_ += skipped;
}

void output_reader::process_ended(nanoseconds now) noexcept {
    if (ended_at_) return;
    ended_at_ = now;
    expect_more();
}

bool output_reader::is_read_at_end(nanoseconds now) {
    auto const took = now - ended_at_.value_or(now);
    if (!behind_ || took < time_at_end) return behind_;
    bool const is_over = took >= most_time_at_end;
    if (metrics_)
        skipped_ = is_over ? metrics_->unread_bytes() : 0;
    else
        skip_to_last(is_over ? 0 : last_lines);
    behind_ = !is_over;
    return behind_;
}

void output_reader::finish(bool is_whole, handler const& handle) {
    if (metrics_)
        metrics_->finish(is_whole, handle);
    else if (adapter_ && is_whole && !output_.ends_with_buffer())
        adapter_->finish(handle);
}

std::string output_reader::skipped_sentence() const {
    if (metrics_)
        return fmt::format("its rows came faster than 'metrics' read them, and {} bytes were skipped; write fewer rows",
                           skipped_);
    return fmt::format(
        "its output came faster than 'log' was matched, and {} bytes were skipped; print less, or use "
        "simpler patterns",
        skipped_);
}

std::string output_reader::unread(job_config const& job, bool reported) const {
    auto const& metric = job.target.metric;
    auto const values = metrics_ ? metrics_->values().counts_of(metric) : adapter_->counts_of(metric);
    if (reported && lost_many(values))
        return unread_values(metrics_ ? "metrics" : "log", metric, values,
                             metrics_ ? metrics_->values().unreadable() : adapter_->unreadable());
    if (skipped_ > 0) return skipped_sentence();
    if (reported) return {};
    return metrics_ ? unread_metrics(*metrics_, metric) : unread_log(*adapter_, job, output_.path());
}

}  // namespace ration::program
