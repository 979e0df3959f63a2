// SPDX-License-Identifier: BSL-1.0
// The machines, agents and messages of the model of a run on several nodes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "nodes/node_lease.hpp"
#include "nodes/node_registry.hpp"
#include "nodes/start_deadline.hpp"

namespace model {

using namespace ration;
using namespace ration::program;

/// A process of a job. It exists on its node whether an agent has a record of it or not.
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
    bool is_resumed = false;  ///< a hello of an agent that has kept its jobs
    bool has_list = true;
    bool has_ended = false;  ///< the last message of an agent whose lease is over
};

[[nodiscard]] inline message_model ended_message(std::string session, std::uint64_t number, nanoseconds clock) {
    message_model out{.session = std::move(session), .number = number, .clock = clock, .jobs = {}};
    out.has_ended = true;
    return out;
}

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
    std::optional<std::string> relayed_session;  // a later command, which waits for the agent
    nanoseconds ready_at{};                      // when it has ended what an earlier one left
    nanoseconds skew{};                          // of its clock
    bool dead = false;                           // without power
};

inline constexpr std::size_t nodes_count = 3, jobs_count = 4, devices_count = 3;
inline constexpr node_times times{
    .start = seconds(8), .silence = seconds(3), .lease = seconds(20), .ending = seconds(6)};
inline constexpr nanoseconds beat = seconds(1), step = milliseconds(250);
inline constexpr nanoseconds start_limit = seconds(8);
inline constexpr int steps = 400;

/// A process does nothing of the rest of its work while it is suspended.
inline void delay_processes(std::span<machine_model> machines) {
    for (auto& machine : machines)
        for (auto& p : machine.processes)
            if (p.ends_at) p.ends_at = *p.ends_at + step;
}

using rng = std::mt19937_64;
[[nodiscard]] inline bool one_in(rng& random, unsigned n) { return random() % n == 0; }
[[nodiscard]] inline nanoseconds up_to(rng& random, nanoseconds most) {
    return nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count))};
}

/// The controller's record of a job.
struct job_model {
    std::vector<std::size_t> wanted{};  ///< nodes, in order
    std::vector<std::size_t> placed{};  ///< those of its incarnation
    std::uint64_t incarnation = 0;
    bool has_failed = false;  ///< a part of it
    start_deadline start{};
    nanoseconds placed_at{};
    std::set<std::size_t> launched{};  ///< nodes that have reported their launches
};

inline void choose_nodes(job_model& job, rng& random) {
    std::set<std::size_t> nodes{random() % nodes_count};
    if (one_in(random, 2)) nodes.insert(random() % nodes_count);
    job.wanted.assign(nodes.begin(), nodes.end());
}

/// The controller's side of a conversation.
struct link_model {
    std::string session;
    std::uint64_t sent = 0, grants = 0, last = 0;
    nanoseconds clock{}, next_beat{}, next_start{};
    bool open = false;
};

/// What has happened in schedules, which shows that the model is alive.
struct tally_model {
    std::uint64_t launches = 0, moves = 0, losses = 0, gangs = 0, hangs = 0, lasting = 0, resumes = 0, crashes = 0,
                  suspends = 0, returns = 0;

    tally_model& operator+=(tally_model const& other) noexcept {
        for (auto const member :
             {&tally_model::launches, &tally_model::moves, &tally_model::losses, &tally_model::gangs,
              &tally_model::hangs, &tally_model::lasting, &tally_model::resumes, &tally_model::crashes,
              &tally_model::suspends, &tally_model::returns})
            this->*member += other.*member;
        return *this;
    }
};

/// How many the test runs.
[[nodiscard]] inline std::uint64_t schedules() {
    char const* const text = std::getenv("RATION_NODE_SCHEDULES");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 2000;
}

}  // namespace model
