// SPDX-License-Identifier: BSL-1.0
#include "run/reporter.hpp"

#include <cstdio>
#include <fmt/core.h>
#include <unistd.h>

namespace ration::program {
namespace {

/// Messages that are shown with --quiet too.
[[nodiscard]] bool is_warning(event const& e) {
    auto const* const reply = std::get_if<policy_logged>(&e.body);
    return reply != nullptr ? reply->for_people
                            : std::holds_alternative<warning>(e.body) || std::holds_alternative<device_changed>(e.body);
}

}  // namespace

result<reporter> reporter::open(run_options const& options) {
    reporter r;
    if (!options.log.empty()) {
        auto opened = event_log::open(options.log);
        if (!opened) return opened.failure();
        r.log_ = std::move(opened).value();
    }
    if (!options.metrics.empty()) {
        auto opened = exporter::open(options.metrics);
        if (!opened) return opened.failure();
        r.metrics_ = std::move(opened).value();
    }
    r.explain_ = options.explain;
    r.quiet_ = options.quiet && !options.json;
    if (options.json) {
        r.json_ = event_log::standard_output();
    } else if (!options.quiet) {
        if (::isatty(STDOUT_FILENO) == 1)
            r.live_ = std::make_unique<live_view>(STDOUT_FILENO);
        else
            r.plain_ = true;
    }
    return r;
}

reporter reporter::with_listener(std::function<void(event const&)> listener) {
    reporter r;
    r.listener_ = std::move(listener);
    return r;
}

void reporter::use_log(event_log log) {
    close(log_);
    log_ = std::move(log);
}

void reporter::emit(event const& e) {
    if (metrics_) metrics_->emit(e);
    if (listener_) listener_(e);
    if (log_ || json_) {
        auto const line = to_json(e);
        if (log_) log_.write_line(line, e.at);
        if (log_) log_.note_head(e, line);
        if (json_) json_.write_line(line, e.at);
    }
    if (quiet_ && is_warning(e)) std::fprintf(stderr, "ration: %s\n", plain_line(e).c_str());
    if (!plain_ && !live_) return;
    if (std::holds_alternative<change_applied>(e.body) && live_ && !explain_) return;  // the bars show it
    if (auto const line = plain_line(e); !line.empty()) print(line);
    auto const* const started = std::get_if<job_started>(&e.body);
    if (explain_ && started != nullptr && !started->placement.empty())
        print(fmt::format("{:>10} {}: {}", "", started->job, started->placement));
}

void reporter::print(std::string_view line) {
    if (live_) {
        live_->print_above(line);
    } else if (plain_) {
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fputc('\n', stdout);
        std::fflush(stdout);
    }
}

void reporter::show(view_model const& model, nanoseconds now) {
    if (live_) live_->draw(model, now);
    if (!plain_ || (status_at_ && now - *status_at_ < status_interval)) return;
    if (status_at_) print(status_line(model));
    status_at_ = now;
}

void reporter::flush(nanoseconds now) {
    for (auto* const log : {&log_, &json_}) {
        if (!*log) continue;
        if (auto const warning = log->flush(now); !warning.empty())
            std::fprintf(stderr, "ration: %s\n", warning.c_str());
    }
}

void reporter::end_of_run(view_model const& model, nanoseconds now) {
    flush(now);
    if (live_) {
        live_->draw_now(model, now);
        live_ = std::make_unique<live_view>(STDOUT_FILENO);
    }
    status_at_.reset();
}

void reporter::close() {
    live_.reset();
    close(log_);
    close(json_);
}

void reporter::close(event_log& log) {
    if (!log) return;
    if (auto const missing = log.close(); !missing.empty()) std::fprintf(stderr, "ration: %s\n", missing.c_str());
}

}  // namespace ration::program
