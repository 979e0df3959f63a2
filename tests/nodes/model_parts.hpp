// SPDX-License-Identifier: BSL-1.0
// The machines, agents and messages of the model of a run on several nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nodes/node_lease.hpp"

namespace model {

using namespace ration;
using namespace ration::program;

/// A process of a job. It exists on its node whether an agent knows it or not.
struct process_model {
    std::size_t job = 0;
    std::uint64_t incarnation = 0;
    std::vector<int> devices;
    std::optional<nanoseconds> ends_at;  ///< it was asked to stop
};

struct part_model {
    std::size_t job = 0;
    std::uint64_t incarnation = 0;
    bool has_ended = false;   ///< in a report: it ran, and failed
    bool is_launched = true;  ///< in a report
};

struct message_model {
    std::string session;
    std::uint64_t number = 0, grants = 0;
    nanoseconds clock{};
    std::vector<part_model> jobs;
    bool is_hello = false;
};

struct in_flight {
    std::size_t node = 0;
    bool to_node = true;
    nanoseconds at{};
    message_model what;
};

/// An agent with its connection.
struct agent_model {
    std::string session;
    node_lease lease;
    std::uint64_t last = 0, sent = 0, grants = 0;
    std::vector<part_model> assigned;
    std::set<std::uint64_t> launched{};            // incarnations: each part is launched once
    std::map<std::uint64_t, nanoseconds> stuck{};  // when a launch that hangs continues, by incarnation
    nanoseconds next_beat{};
    bool connected = true;
    bool silent = false;  // it can neither send nor receive for a while
};

struct machine_model {
    std::vector<process_model> processes;
    std::optional<agent_model> agent;            // the one with the lock
    std::optional<std::string> waiting_session;  // an agent that waits for the lock
    nanoseconds ready_at{};                      // when it has ended what an earlier one left
    nanoseconds skew{};                          // of its clock
    bool dead = false;                           // without power
};

}  // namespace model
