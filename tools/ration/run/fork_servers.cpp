// SPDX-License-Identifier: BSL-1.0
#include "run/fork_servers.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include <ration/process/environment.hpp>
#include <ration/process/marked.hpp>
#include <ration/progress/token.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

/// The command that runs python/ration/fork_server.py.
[[nodiscard]] std::vector<std::string> command_of_server(job_config const& job) {
    std::vector<std::string> command{job.command.front(), "-m", "ration.fork_server"};
    command.insert(command.end(), job.preload.begin(), job.preload.end());
    return command;
}

/// One thread, since a fork loses all others; and a token of no job, which a launched process replaces by its own. By
/// the output of the job, `ration clean` finds processes that the modules have started.
[[nodiscard]] std::vector<std::string> environment_of_server(std::vector<std::string> entries, std::string mark) {
    auto const is_ours = [](std::string const& entry) {
        return entry.starts_with("RATION_") && !entry.starts_with("RATION_OUTPUT=");
    };
    auto const ours = std::ranges::remove_if(entries, is_ours);
    entries.erase(ours.begin(), ours.end());
    for (auto& entry : entries) {
        auto const name = std::string_view(entry).substr(0, entry.find('='));
        if (std::ranges::find(process::thread_count_variables, name) != process::thread_count_variables.end())
            entry = std::string(name) + "=1";
    }
    entries.push_back(std::move(mark));
    return entries;
}

[[nodiscard]] std::string text_of_end(process::exit_report const& end) {
    bool const is_killed = end.how == process::exit_report::kind::killed;
    return fmt::format("it has ended, with {} {}", is_killed ? "signal" : "exit code", end.number);
}

}  // namespace

process::fork_server* fork_servers::ready_for(live_job const& job, nanoseconds now) {
    auto* const server = jobs_[job].server.get();
    if (server == nullptr) return nullptr;
    if (auto const ended = server->ended()) {
        fail(job, text_of_end(*ended), now);
        return nullptr;
    }
    return server->is_ready() ? server : nullptr;
}

void fork_servers::start(live_job const& job, process::launch_spec spec, nanoseconds now) {
    auto& its = jobs_[job];
    if (job.config->preload.empty() || its.server || its.has_failed) return;
    spec.command = command_of_server(*job.config);
    auto const token = progress::random_token();
    if (!token) return fail(job, to_text(token.failure()), now);
    its.mark = process::mark_of(token->view());
    spec.environment = environment_of_server(std::move(spec.environment), its.mark);
    spec.journal = -1;
    spec.open_files = open_files_;
    auto started = process::fork_server::start(spec);
    if (!started) return fail(job, to_text(started.failure()), now);
    its.server = std::move(started).value();
}

void fork_servers::fail(live_job const& job, std::string const& why, nanoseconds now) {
    end(job, now);
    jobs_[job].has_failed = true;
    events_.warn_once(job.config->name,
                      fmt::format("its fork server cannot be used: {}; its launches import their modules again", why),
                      now);
}

void fork_servers::end(live_job const& job, nanoseconds now) {
    auto& its = jobs_[job];
    its.server.reset();
    if (its.mark.empty()) return;
    auto const mark = std::exchange(its.mark, {});
    auto const left = process::find_marked(mark);
    if (!left || left->empty()) return;
    events_.warn_once(job.config->name,
                      fmt::format("its modules of 'preload' had left {} process{} running; {} killed", left->size(),
                                  left->size() == 1 ? "" : "es", left->size() == 1 ? "it is" : "they are"),
                      now);
    if (auto const killed = process::kill_marked(mark); !killed)
        events_.warn_once(job.config->name, to_text(killed.failure()), now);
}

}  // namespace ration::program
