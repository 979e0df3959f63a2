// SPDX-License-Identifier: BSL-1.0
/// Passes each event to all receivers: the event log, `--json`, the terminal or the pipe, the metrics, a listener.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "events/event_log.hpp"
#include "run/exporter.hpp"
#include "run/options.hpp"
#include "view/live_view.hpp"

namespace ration::program {

class reporter {
    event_log log_, json_;
    std::unique_ptr<live_view> live_;
    std::unique_ptr<exporter> metrics_;
    std::function<void(event const&)> listener_;
    bool plain_ = false, explain_ = false, quiet_ = false;
    std::optional<nanoseconds> status_at_;

    static void close(event_log& log);

public:
    static constexpr nanoseconds status_interval = seconds(5);  // of the status line without a terminal

    /// Errors: the log or the place for metrics cannot be opened.
    [[nodiscard]] static result<reporter> open(run_options const& options);

    /// Passes each event to `listener`, and writes nothing.
    [[nodiscard]] static reporter with_listener(std::function<void(event const&)> listener);

    /// The event log of the next run, where `--log` names none. Closes the log before it.
    void use_log(event_log log);
    void emit(event const& e);
    /// A line for people, where people read.
    void print(std::string_view line);
    /// The state of the run: drawn on a terminal, a line now and then in a pipe.
    void show(view_model const& model, nanoseconds now);
    /// Writes out what is buffered.
    void flush(nanoseconds now);
    /// The last frame stays on the screen; the log continues with the next run.
    void end_of_run(view_model const& model, nanoseconds now);
    /// Closes the log, and prints what is missing from it.
    void close();

    /// Of `--metrics`; null without it.
    [[nodiscard]] exporter* metrics() const noexcept { return metrics_.get(); }
    [[nodiscard]] bool explains() const noexcept { return explain_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return log_.lost(); }
};

}  // namespace ration::program
