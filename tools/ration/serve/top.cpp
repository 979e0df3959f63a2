// SPDX-License-Identifier: BSL-1.0
#include "serve/top.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include <ration/process/child.hpp>

#include "run/live_state.hpp"
#include "run/run_directory.hpp"
#include "run/stop_signals.hpp"
#include "serve/daemon.hpp"
#include "serve/job_list.hpp"
#include "serve/service_call.hpp"
#include "view/live_view.hpp"

namespace ration::program {
namespace {

/// The newest view that the service has written of its run; without a running service a view without jobs.
[[nodiscard]] view_model running_jobs(service_folder const& folder) {
    view_model model{.policy = "the service is down", .backend = {}, .elapsed = {}, .jobs = {}, .notice = {}};
    auto const runs = present_runs(std::span(&folder.path, 1));
    auto const own = std::ranges::find_if(
        runs, [&](present_run const& run) { return run.alive && run.record.file == folder.database(); });
    view_model state;
    if (own != runs.end() && read_state(own->state, state).empty()) return state;
    return model;
}

/// "3 queued, 1 paused".
[[nodiscard]] result<std::string> text_of_queue(job_list& store) {
    constexpr std::array queued{stage::queued};
    auto const jobs = store.in_stages(queued);
    if (!jobs) return jobs.failure();
    auto const paused = std::ranges::count_if(*jobs, &stored_job::paused);
    auto text = fmt::format("{} queued", std::ssize(*jobs) - paused);
    if (paused > 0) text += fmt::format(", {} paused", paused);
    return text;
}

/// Waits for a signal, at most a second.
[[nodiscard]] bool is_interrupted(stop_signals const& signals) {
    pollfd wanted{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 1000) > 0;
}

}  // namespace

exit_code show_top(top_options const& options) {
    auto const folder = service_folder_named(options.folder);
    auto store = job_list::open(folder.database());
    if (!store) return unreachable(store.failure(), folder);
    auto const signals = stop_signals::open();
    if (!signals) return unreachable(signals.failure(), folder);
    std::optional<live_view> screen;
    if (::isatty(STDOUT_FILENO) == 1) screen.emplace(STDOUT_FILENO);
    do {
        auto model = running_jobs(folder);
        auto queue = text_of_queue(*store);
        if (!queue) return unreachable(queue.failure(), folder);
        model.notice = std::move(queue).value();
        if (screen)
            screen->draw_now(model, process::now());
        else
            std::fputs(render(model, 120, 1000, {.unicode = false, .colour = false}).c_str(), stdout);
    } while (screen && !is_interrupted(*signals));
    return exit_code::ok;
}

}  // namespace ration::program
