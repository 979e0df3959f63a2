// SPDX-License-Identifier: BSL-1.0
/// The nodes of a run: starts their commands, holds the conversations, and sends each node its list of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/cluster_backend.hpp"
#include "nodes/node_lease.hpp"
#include "nodes/node_link.hpp"
#include "nodes/node_registry.hpp"
#include "run/event_sink.hpp"

namespace ration::program {

/// The content of the messages to each node before the first job.
struct cluster_task {
    hello_order hello;  ///< without the name of the node
    std::string backend;
    std::string file;  ///< the text of the jobs file
};

class cluster_nodes {
    struct member {
        node_link link;
        hello_report facts{};
        std::int64_t devices = 0;  ///< that jobs can have there
        std::uint64_t lists = 0;   ///< the number of the last list
        bool dirty = false;
        nanoseconds next_beat{};
        std::optional<nanoseconds> restart_at{};
        int starts = 0;  ///< in a row, none of which was up for long
        int calls = 0;   ///< starts since it was lost
        nanoseconds started{}, up_since{};
        bool was_up = false;     ///< so that an agent may live there
        bool has_ended = false;  ///< by itself, with its last message
        node_state shown = node_state::starting;
    };
    std::vector<member> members_;
    node_registry registry_;
    cluster_task task_;
    event_sink& events_;
    nanoseconds last_advance_ = lease_clock();
    bool ending_ = false;

public:
    using report_handler = std::function<void(std::size_t, node_report&&)>;

    cluster_nodes(std::vector<node_spec> specs, std::size_t jobs, node_times times, cluster_task task,
                  event_sink& events);

    /// `reattach`: an earlier controller has started them, and their agents may live.
    void start(bool reattach, nanoseconds now);
    /// Adds the descriptors to wait for.
    void join(std::vector<pollfd>& fds);
    [[nodiscard]] nanoseconds next_wakeup(nanoseconds now) const noexcept;
    /// Reads the messages that have arrived. States and events of live sessions go to `handle`.
    void receive(report_handler const& handle, nanoseconds now);
    /// Time passes: silent nodes, commands to be started again. True: this process was suspended since the last call,
    /// as by Ctrl-Z, or the machine was.
    [[nodiscard]] bool advance(nanoseconds now);
    using part_of = std::function<assigned_job(std::size_t job, std::size_t node)>;
    /// Sends the lists that have changed, and beats. `describe`: the part of one of `jobs` on a node; empty: only
    /// beats, before the first lists.
    void send(part_of const& describe, std::size_t jobs, nanoseconds now);
    /// The nodes end their jobs, and then themselves.
    void end(bool kill);
    /// All commands have ended. `force`: kills those that have not.
    [[nodiscard]] bool have_ended(bool force);

    /// The list of a node has changed. Returns the number that the next one will have.
    std::uint64_t change_list(std::size_t node) noexcept {
        members_[node].dirty = true;
        return members_[node].lists + 1;
    }
    [[nodiscard]] std::uint64_t list_of(std::size_t node) const noexcept {
        return members_[node].dirty ? members_[node].lists + 1 : members_[node].lists;
    }
    /// Whether the next `send` has another list for a node.
    [[nodiscard]] bool has_changed_lists() const noexcept;
    [[nodiscard]] node_registry& registry() noexcept { return registry_; }
    [[nodiscard]] node_registry const& registry() const noexcept { return registry_; }
    [[nodiscard]] std::string const& name(std::size_t node) const noexcept { return members_[node].link.name(); }
    /// Where other nodes reach it.
    [[nodiscard]] std::string address(std::size_t node) const;
    [[nodiscard]] hello_report const& facts(std::size_t node) const noexcept { return members_[node].facts; }
    /// Devices that jobs can have there together; 0 once it is lost or gone.
    [[nodiscard]] std::int64_t devices(std::size_t node) const noexcept;
    /// Whether a command is to be started again.
    [[nodiscard]] bool awaits_restart() const noexcept;
    /// Whether `end` was called. Before that, a node that stops a job does so by itself, as at a SIGTERM: the job
    /// continues elsewhere.
    [[nodiscard]] bool is_ending() const noexcept { return ending_; }

private:
    void start(std::size_t node, nanoseconds now);
    void close(std::size_t node, nanoseconds now);
    void take(std::size_t node, node_report&& report, report_handler const& handle, nanoseconds now);
    void take_hello(std::size_t node, hello_report&& hello, nanoseconds now);
    void keep_starting(std::size_t node, nanoseconds now);
    void show_state(std::size_t node, nanoseconds now);
};

/// A node has jobs, or can have some; one that was lost only once it answers again.
[[nodiscard]] bool is_any_there(node_registry const& nodes) noexcept;
/// The first message of a command is awaited.
[[nodiscard]] bool is_any_starting(node_registry const& nodes) noexcept;
/// A node that was lost may answer again.
[[nodiscard]] bool may_any_return(node_registry const& nodes) noexcept;

/// The node of this name.
[[nodiscard]] std::optional<std::size_t> find_node(cluster_nodes const& nodes, std::string_view name) noexcept;

}  // namespace ration::program
