// SPDX-License-Identifier: BSL-1.0
/// Decides in which condition each node is, and which node may run each job. It has neither a clock nor input or
/// output: the controller of a run reports what happens, and asks.
///
/// A job is on at most one node. It can be assigned to another one only after the first has confirmed that nothing of
/// the job is left, or cannot run it any more because its lease is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

enum class node_state : std::uint8_t {
    starting,  ///< its command was started, and no hello of it has come
    up,
    suspect,  ///< silent for a while, or its connection has ended; it gets no jobs, and keeps those that it has
    lost,     ///< its lease is over, so that its jobs can start elsewhere; it stays away
    gone,     ///< it has ended by order, or never came
};
[[nodiscard]] std::string_view name_of(node_state state) noexcept;

/// Periods on the clock of the controller.
struct node_times {
    nanoseconds start = seconds(60);    ///< from the first command to its hello
    nanoseconds silence = seconds(10);  ///< without a message, until a node is suspect
    nanoseconds lease;                  ///< of each node
    nanoseconds ending;                 ///< within which a node ends its jobs after that
};

class node_registry {
    struct node {
        node_state state = node_state::gone;
        std::string session;
        nanoseconds started{}, heard{};
        bool was_up = false;  ///< so that jobs of it can be alive
    };
    struct job {
        std::optional<std::size_t> node;
        std::uint64_t number = 0;  ///< of the list that has assigned it, or has withdrawn it
        bool leaving = false;
    };
    node_times times_;
    std::vector<node> nodes_;
    std::vector<job> jobs_;

public:
    node_registry(std::size_t nodes, std::size_t jobs, node_times times) : times_(times), nodes_(nodes), jobs_(jobs) {}

    // --- Events
    /// A command for the node was started, the first or another one, for a session of its own. Pre: the node is neither
    /// lost nor, after it was up, gone.
    void start(std::size_t node, std::string session, nanoseconds now);
    /// The first message of a session. A node sends it once it has ended all jobs of its earlier sessions. False: it is
    /// to be ignored, as after `message`.
    [[nodiscard]] bool hello(std::size_t node, std::string_view session, nanoseconds now);
    /// Any message. False: it is of another session, or the node is lost or gone; it is to be ignored.
    [[nodiscard]] bool message(std::size_t node, std::string_view session, nanoseconds now);
    /// The complete list of the jobs of a node, after it has acted upon the list `number`. Pre: `message` was true.
    void report(std::size_t node, std::uint64_t number, std::span<std::size_t const> present);
    /// The connection has ended.
    void closed(std::size_t node);
    /// The last message of a node: no job of it is left. Pre: `message` was true.
    void ended(std::size_t node);
    /// Time passes.
    void advance(nanoseconds now);

    // --- Orders
    /// Pre: `may_assign`. `number`: of the first list that names the job.
    void assign(std::size_t job, std::size_t node, std::uint64_t number);
    /// The job is to leave its node. `number`: of the first list that does not name it. Pre: it has a node.
    void withdraw(std::size_t job, std::uint64_t number);

    // --- State
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] node_state state(std::size_t node) const noexcept { return nodes_[node].state; }
    [[nodiscard]] bool may_assign(std::size_t job, std::size_t node) const noexcept {
        return !jobs_[job].node && nodes_[node].state == node_state::up;
    }
    /// Where the job is, or may still be.
    [[nodiscard]] std::optional<std::size_t> node_of(std::size_t job) const noexcept { return jobs_[job].node; }
    [[nodiscard]] bool is_leaving(std::size_t job) const noexcept { return jobs_[job].leaving; }
    /// Whether a list for this node has to name the job.
    [[nodiscard]] bool is_assigned(std::size_t job, std::size_t node) const noexcept {
        return jobs_[job].node == node && !jobs_[job].leaving;
    }
    /// When the state of a node can change without an event, at the earliest.
    [[nodiscard]] nanoseconds next_change() const noexcept;

private:
    [[nodiscard]] static bool is_away(node_state state) noexcept {
        return state == node_state::lost || state == node_state::gone;
    }
    [[nodiscard]] nanoseconds deadline_of(node const& n) const noexcept;
    void release_jobs(std::size_t node);
};

}  // namespace ration::program
