// SPDX-License-Identifier: BSL-1.0
/// The state of each node, and the nodes that may run each job. It has neither a clock nor input or output: the
/// controller of a run reports events, and asks.
///
/// A job is assigned to one node or to several at once. It can be assigned again only after each of them has confirmed
/// that nothing of the job is left, or cannot run it any more because its lease is over.
#pragma once

#include <cstddef>
#include <cstdint>
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
    lost,     ///< its lease is over, so that its jobs can start elsewhere; its command can be started again
    gone,     ///< it has ended by order, or never came; it stays away
};
[[nodiscard]] std::string_view name_of(node_state state) noexcept;

/// Why a node has ended by itself.
enum class node_end : std::uint8_t {
    by_order,       ///< of its controller, of a user, or of another run
    without_lease,  ///< no message of the controller came in time
};

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
        nanoseconds started{}, last_message{};
        bool was_up = false;         ///< since it was lost, so that jobs of it can be alive
        bool was_lost = false;       ///< and is so again if its command does not come
        bool awaits_report = false;  ///< of the jobs that it has kept

        [[nodiscard]] bool is_away() const noexcept;
        void lose();
        /// When it is suspect, lost or gone if it stays silent.
        [[nodiscard]] nanoseconds deadline(node_times const& times) const noexcept;
    };
    struct part {
        std::size_t node = 0;
        /// Of the list that has assigned it, or has withdrawn it. 0: one of an earlier session, so that a report
        /// without the job shows that it is gone
        std::uint64_t number = 0;
        bool leaving = false;
    };
    struct job {
        std::vector<part> parts{};
        std::size_t assigned = 0;  ///< parts at the start
    };
    node_times times_;
    std::vector<node> nodes_;
    std::vector<job> jobs_;

public:
    node_registry(std::size_t nodes, std::size_t jobs, node_times times) : times_(times), nodes_(nodes), jobs_(jobs) {}

    // --- Events
    /// A command for the node was started, the first or another one, for a new session. Pre: the node has not ended by
    /// order.
    void start(std::size_t node, std::string session, nanoseconds now);
    /// The first message of a session. A node sends it once it has ended all jobs of its earlier sessions, or
    /// `has_kept_jobs`: then its first report lists them, under number 0. False: it is to be ignored, as after
    /// `message`, or because a node that was lost cannot have kept jobs.
    [[nodiscard]] bool hello(std::size_t node, std::string_view session, nanoseconds now, bool has_kept_jobs = false);
    /// Any message. False: it is of another session, or the node is lost or gone; it is to be ignored.
    [[nodiscard]] bool message(std::size_t node, std::string_view session, nanoseconds now);
    /// The complete list of the jobs of a node, after it has acted upon the list `number`. Pre: `message` was true.
    void report(std::size_t node, std::uint64_t number, std::span<std::size_t const> present);
    /// The connection has ended.
    void closed(std::size_t node);
    /// The last message of a node: no job of it is left. Pre: `message` was true.
    void ended(std::size_t node, node_end how);
    /// Time passes.
    void advance(nanoseconds now);
    /// The controller itself was suspended until now, so that earlier silence shows nothing: each node counts as
    /// silent from `now` on. Nodes that were suspended with it may need their whole time to end their jobs.
    void resume(nanoseconds now);

    /// An earlier controller has assigned the job to these nodes, and was killed. `leaving`: it has withdrawn the job,
    /// which had `assigned` parts. The nodes can be alive: each counts as silent from `now` on. Pre: no node was
    /// started.
    void expect(std::size_t job, std::vector<std::size_t> const& nodes, std::size_t assigned, bool leaving,
                nanoseconds now);

    // --- Orders
    /// The first list of a node that names the job, or the first one that does not.
    struct node_list {
        std::size_t node = 0;
        std::uint64_t number = 0;
    };
    /// Pre: `may_assign` for each node.
    void assign(std::size_t job, std::vector<node_list> const& lists);
    /// The part of a job is to leave its node. Pre: `is_on`.
    void withdraw(std::size_t job, node_list const& list);

    // --- State
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] node_state state(std::size_t node) const noexcept { return nodes_[node].state; }
    [[nodiscard]] bool may_assign(std::size_t job, std::size_t node) const noexcept {
        return is_free(job) && nodes_[node].state == node_state::up;
    }
    /// No job can be on the node: it is lost, also while its command is started again, or gone.
    [[nodiscard]] bool is_away(std::size_t node) const noexcept { return nodes_[node].is_away(); }
    /// No process of the job can be alive on any node.
    [[nodiscard]] bool is_free(std::size_t job) const noexcept { return jobs_[job].parts.empty(); }
    /// Whether a part of the job is, or may still be, on the node.
    [[nodiscard]] bool is_on(std::size_t job, std::size_t node) const noexcept { return find(job, node) != nullptr; }
    /// Whether the next report of the node lists the jobs that it has kept. Before it, a list could assign a job that
    /// it does not have, and that the report then frees.
    [[nodiscard]] bool awaits_report(std::size_t node) const noexcept { return nodes_[node].awaits_report; }
    /// The nodes where the job is, or may still be.
    [[nodiscard]] std::vector<std::size_t> nodes_of(std::size_t job) const;
    [[nodiscard]] bool is_leaving(std::size_t job) const noexcept;
    /// Some of its parts are gone, and the others do not leave: these cannot continue.
    [[nodiscard]] bool is_broken(std::size_t job) const noexcept {
        auto const& j = jobs_[job];
        return !j.parts.empty() && j.parts.size() < j.assigned && !is_leaving(job);
    }
    /// Whether a list for this node has to name the job.
    [[nodiscard]] bool is_assigned(std::size_t job, std::size_t node) const noexcept {
        auto const* const part = find(job, node);
        return part != nullptr && !part->leaving;
    }
    /// When the state of a node can change without an event, at the earliest.
    [[nodiscard]] nanoseconds next_change() const noexcept;

private:
    [[nodiscard]] part const* find(std::size_t job, std::size_t node) const noexcept;
    void release_jobs(std::size_t node);
};

}  // namespace ration::program
