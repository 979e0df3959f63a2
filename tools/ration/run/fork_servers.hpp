// SPDX-License-Identifier: BSL-1.0
/// The fork servers of a run, at most one for each job: they have imported the modules of the key `preload`, and start
/// all launches but the first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>

#include <ration/process/fork_server.hpp>

#include "run/event_sink.hpp"
#include "run/per_job.hpp"

namespace ration::program {

class fork_servers {
    struct state {
        std::unique_ptr<process::fork_server> server;
        std::string mark;  // of its environment, which its modules pass on to processes that they start
        bool has_failed = false;
    };
    std::optional<rlimit> open_files_;
    event_sink& events_;
    per_job<state> jobs_;

public:
    /// `open_files` is that of a launch, whose limits the forks inherit from their server.
    fork_servers(std::size_t jobs, std::optional<rlimit> open_files, event_sink& events)
        : open_files_(open_files), events_(events), jobs_(jobs) {}

    /// The server that can launch this job now; null: none, and the launch starts the program.
    [[nodiscard]] process::fork_server* ready_for(live_job const& job, nanoseconds now);
    /// After a launch with `spec`: starts the server of a job with modules, unless it has one or had one that failed.
    void start(live_job const& job, process::launch_spec spec, nanoseconds now);
    /// The server did not launch the job. A warning; the job gets no other server.
    void fail(live_job const& job, std::string const& why, nanoseconds now);
    /// The job has ended. Ends its server, and what the modules have started and left, with a warning.
    void end(live_job const& job, nanoseconds now);
};

}  // namespace ration::program
