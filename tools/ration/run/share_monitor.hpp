// SPDX-License-Identifier: BSL-1.0
/// Finds out whether jobs with shares of a GPU are clients of MPS, so that their shares are limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/event_sink.hpp"
#include "run/gpu_shares.hpp"
#include "run/host_devices.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/per_job.hpp"

namespace ration::program {

class share_monitor {
    /// Of the present launch.
    struct state {
        std::optional<nanoseconds> from, next;  // since when it should be a client; time of the next query
        bool done = false;                      // whichever way
    };
    gpu_shares const* shares_;  // null: the devices are no shares
    host_devices const& devices_;
    device_table const& table_;
    node_backend& node_;
    job_table& jobs_;
    event_sink& events_;
    per_job<state> states_;

public:
    share_monitor(gpu_shares const* shares, host_devices const& devices, device_table const& table, node_backend& node,
                  job_table& jobs, event_sink& events)
        : shares_(shares), devices_(devices), table_(table), node_(node), jobs_(jobs), events_(events),
          states_(jobs.capacity()) {}

    void start_incarnation(live_job const& job) { states_[job] = {}; }
    /// The job has made a step, so that it uses its GPU.
    void handle_step(live_job const& job, nanoseconds now) {
        if (!states_[job].from) states_[job].from = now;
    }
    /// Queries the daemon about the jobs that compute by now, or should: one query for all of them.
    void probe(nanoseconds now);

private:
    void classify(live_job const& job, result<std::vector<std::int32_t>> const& clients, nanoseconds now);
    void emit(live_job const& job, resize_step what, std::string why, nanoseconds now);
};

}  // namespace ration::program
