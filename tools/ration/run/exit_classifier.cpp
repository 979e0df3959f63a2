// SPDX-License-Identifier: BSL-1.0
#include "run/exit_classifier.hpp"

#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <utility>

namespace ration::program {
namespace {

using exit_kind = process::exit_report::kind;

[[nodiscard]] std::string sentence_of(process::exit_report const& how) {
    if (how.how == exit_kind::unknown) return "ended; how is not known, since an earlier ration started it";
    if (how.how == exit_kind::killed)
        return fmt::format("killed by signal {} ({})", how.number, ::strsignal(how.number));
    return how.number == 0 ? "" : fmt::format("exit code {}", how.number);
}

/// Whether the end can be that of a program that was asked to end: a success, an unknown end, or its signal. Launchers
/// return 128 + number for a signal.
[[nodiscard]] bool obeyed(process::exit_report const& how, int signal) noexcept {
    return how.how == exit_kind::unknown || how.success() ||
           how.number == (how.how == exit_kind::killed ? signal : 128 + signal);
}

/// As PyTorch can end when the interpreter does, after the whole script (pytorch#190489), or a shell around it.
[[nodiscard]] bool aborted(process::exit_report const& how) noexcept {
    return how.number == (how.how == exit_kind::killed ? SIGABRT : 128 + SIGABRT);
}

/// SIGTERM of a user who interrupts the run is not worth a reason.
[[nodiscard]] std::string sentence_of_stop(stop_reason reason, process::exit_report const& how, int signal,
                                           std::string const& trouble) {
    std::string const why(name_of(reason));
    return reason == stop_reason::interrupted || obeyed(how, signal) ? why : fmt::format("{}, then {}", why, trouble);
}

}  // namespace

exit_classifier::verdict exit_classifier::classify(live_job const& job, process::exit_report const& report,
                                                   nanoseconds now) {
    if (job.now == condition::diverged || health_.has_diverged(job, now))
        return {condition::diverged, health_.sentence_of_divergence(job)};
    if (!stopper_.refusal(job).empty()) return {condition::failed, stopper_.refusal(job)};
    if (stopper_.is_stopping(job)) {
        auto const reason = stopper_.reason(job);
        return {reason == stop_reason::interrupted ? condition::stopped : condition::finished,
                sentence_of_stop(reason, report, job.config->stop_signal, trouble_of(job, report))};
    }
    bool const unknown = report.how == exit_kind::unknown;
    if (unknown && source_.records_ends())
        return {condition::failed, "its end was not recorded, as after SIGKILL of its first process"};
    if (report.success() || unknown) return {condition::finished, success_of(job, report)};
    auto trouble = trouble_of(job, report);
    if (!progress_.said_done(job)) return {condition::failed, std::move(trouble)};
    return {aborted(report) ? condition::finished : condition::failed, "it reported its end, then " + trouble};
}

/// A job whose first process succeeded can have lost others, such as its data loaders, for a lack of memory.
std::string exit_classifier::success_of(live_job const& job, process::exit_report const& report) {
    std::string out = sentence_of(report);
    auto const shortage = node_.jobs().memory_shortage_of(job.id);
    if (!shortage.starts_with("out")) return out;  // another job may have been meant
    return fmt::format("{}{}the kernel killed one of its processes, {}", out, out.empty() ? "" : "; ", shortage);
}

/// Why a process failed, with the last line that it printed. The kernel's SIGKILL for a lack of memory is not worth a
/// mention beside that lack.
std::string exit_classifier::trouble_of(live_job const& job, process::exit_report const& report) {
    auto const shortage = node_.jobs().memory_shortage_of(job.id);
    bool const by_kernel = report.how == exit_kind::killed && report.number == SIGKILL && shortage.starts_with("out");
    std::string out = by_kernel ? shortage : sentence_of(report);
    if (!shortage.empty() && !by_kernel) out += "; " + shortage;
    process::file_rights const rights(job.config->account());
    auto const line = last_line(progress_.output_of(job));
    return line.empty() ? out : fmt::format("{}; its last line: {}", out, line);
}

}  // namespace ration::program
