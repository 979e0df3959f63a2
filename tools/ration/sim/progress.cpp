// SPDX-License-Identifier: BSL-1.0
#include "sim/progress.hpp"

#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/quantity.hpp"
#include "view/screen_line.hpp"

namespace ration::program {
namespace {

constexpr std::uint32_t bar_columns = 24;

[[nodiscard]] std::uint32_t width_of_terminal() noexcept {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void follow(runs_progress const& progress, std::stop_token const& stop) {
    using clock = std::chrono::steady_clock;
    bool const terminal = ::isatty(STDERR_FILENO) == 1;
    auto const start = clock::now();
    std::chrono::milliseconds const pause(terminal ? 200 : 10'000);
    std::mutex waiting;
    std::condition_variable_any wake;
    std::unique_lock lock(waiting);
    bool drawn = false;
    while (!wake.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
        progress_state const state{.jobs_done = progress.jobs_done.load(),
                                   .jobs = progress.jobs,
                                   .runs_done = progress.runs_done.load(),
                                   .runs = progress.runs,
                                   .elapsed = {std::chrono::nanoseconds(clock::now() - start).count()}};
        auto const text = progress_text(state, terminal, terminal ? width_of_terminal() - 1 : 200);
        fmt::print(stderr, fmt::runtime(terminal ? "\r{}\x1b[K" : "{}\n"), text);
        std::fflush(stderr);
        drawn = terminal;
    }
    if (drawn) std::fputs("\r\x1b[K", stderr);
}

}  // namespace

std::string progress_text(progress_state const& state, bool bar, std::uint32_t width) {
    double const part = state.jobs == 0 ? 1 : static_cast<double>(state.jobs_done) / static_cast<double>(state.jobs);
    double const seconds = to_seconds(state.elapsed),
                 rate = seconds > 0 ? static_cast<double>(state.jobs_done) / seconds : 0;
    std::string text;
    if (bar) {
        auto const full = static_cast<std::uint32_t>(part * bar_columns);
        text = '[' + std::string(full, '#') + std::string(bar_columns - full, '-') + "] ";
    }
    text += fmt::format("{:.0f} %  {} of {} runs  {:.0f} jobs/s", part * 100, state.runs_done, state.runs, rate);
    if (rate > 0)
        text += fmt::format("  {} left",
                            duration_text(ration::seconds(static_cast<double>(state.jobs - state.jobs_done) / rate)));
    return std::string(first_columns(text, width));
}

progress_view::progress_view(runs_progress const& progress)
    : thread_([&progress](std::stop_token const& stop) { follow(progress, stop); }) {}

}  // namespace ration::program
