// SPDX-License-Identifier: BSL-1.0
/// The messages between the controller of a run and `ration node`: one JSON object a line. docs/wire.md describes them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ration/result.hpp>
#include <ration/units.hpp>

#include "config/job_part.hpp"

namespace ration::program {

/// A conversation needs the same version on both sides. Within one version only keys are added, which an older
/// reader ignores.
inline constexpr std::int64_t wire_version = 1;
/// Bytes in front of the first message, such as the banner of a login.
inline constexpr std::size_t most_banner_bytes = std::size_t{64} << 10;
/// Bytes of the jobs file in one message, so that its JSON stays below `most_message_bytes`.
inline constexpr std::size_t file_part_bytes = std::size_t{8} << 10;
/// Jobs in one message, for the same reason.
inline constexpr std::size_t jobs_in_message = 48;

/// In each message. A receiver ignores messages of another session, and those whose number is not greater than the last
/// one.
struct wire_head {
    std::string session;
    std::uint64_t number = 0;
    /// From a node: its clock. From the controller: the greatest clock that it has received from this session. The
    /// node's lease begins then, so that delays on the way only shorten it.
    std::int64_t clock = 0;
};

// --- From the controller to a node

/// The first message. `version` differs from `wire_version`: the other members are not read.
struct hello_order {
    std::int64_t version = wire_version;
    std::string run, node;  ///< as `is_node_name`
    nanoseconds lease{};    ///< for which its jobs run on without a message
    nanoseconds beat{};     ///< the longest time between two messages
    std::string directory;  ///< where relative paths of the jobs file begin
    std::string output;     ///< the folder of the jobs' outputs and checkpoints
    std::string marker;     ///< a file in it, which shows that it is the same folder
    bool reattach = false;  ///< an agent of this node may live, and keeps its jobs
};
/// A part of the jobs file, in order.
struct file_order {
    std::string text;
};
/// The file is complete: the node opens its devices and replies with its own hello.
struct begin_order {
    std::string backend;                   ///< as `--backend` takes it
    std::optional<std::uint32_t> cpus;     ///< of the node that jobs may use; none: those of the file or the machine
    std::optional<std::uint32_t> devices;  ///< CPU devices of the node; none: those of the file
};
/// All jobs that the node is to have, with their grants. It ends other jobs that it has.
struct assigned_job {
    std::string job;
    std::uint32_t incarnations = 0;  ///< launches on other nodes
    std::int64_t devices = 0;
    std::int64_t batch = 0;  ///< samples per step; 0: the job chooses
    job_part part{};         ///< on this node
};
struct jobs_order {
    std::uint64_t grants = 0;  ///< the number of this list, which `state_report` repeats
    std::vector<assigned_job> jobs;
    bool more = false;  ///< the list continues in the next message
};
struct beat_order {};
/// Ends all jobs, and then the node.
struct end_order {
    bool kill = false;  ///< the jobs get no time to save
};

using node_order = std::variant<hello_order, file_order, begin_order, jobs_order, beat_order, end_order>;

// --- From a node to the controller

struct hello_report {
    std::int64_t version = wire_version;
    std::string node;
    int pid = 0;
    std::int64_t cpu = 0, memory = 0;  ///< millicores, bytes
    std::vector<std::string> devices;
    std::string backend;      ///< that limits the jobs
    std::string approximate;  ///< what it cannot do exactly; empty: nothing
    bool reattached = false;  ///< it has the jobs of an earlier session; its first state lists them
};
/// All jobs of the node, after it has acted upon the list `grants`.
struct state_report {
    std::uint64_t grants = 0;
    std::int64_t devices = 0;  ///< that jobs can have together now
    std::string rows;          ///< a JSON array of objects, which `read_node_row` reads
    bool more = false;
};
/// A line of the event log.
struct event_report {
    std::string event;  ///< JSON
};
/// The node cannot do what a message asks, or cannot start.
struct error_report {
    std::string message;
};
/// Its last message: no job of it is left.
struct ended_report {
    bool without_lease = false;  ///< it has ended because no message of the controller came in time
};

using node_report = std::variant<hello_report, state_report, event_report, error_report, ended_report>;

/// One line without a newline, which is not longer than `most_message_bytes` unless a text in it is.
[[nodiscard]] std::string to_line(wire_head const& head, node_order const& what);
[[nodiscard]] std::string to_line(wire_head const& head, node_report const& what);

template <class Message>
struct wire_message {
    wire_head head;
    Message body;
};

/// Errors: a sentence on the message. Unknown keys are ignored.
[[nodiscard]] result<wire_message<node_order>, std::string> read_order(std::string_view line);
[[nodiscard]] result<wire_message<node_report>, std::string> read_report(std::string_view line);

/// The first message that a node sends, behind a banner that does not end its line; else the whole line.
[[nodiscard]] std::string_view without_banner(std::string_view line);

/// Whether a line is a hello. Lines in front of it are a banner.
[[nodiscard]] bool is_hello(std::string_view line);

/// The sentence for a hello with another version.
[[nodiscard]] std::string version_sentence(std::int64_t theirs);

}  // namespace ration::program
