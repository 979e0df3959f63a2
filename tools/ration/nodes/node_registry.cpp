// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_registry.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <ration/assert.hpp>

namespace ration::program {

std::string_view name_of(node_state state) noexcept {
    constexpr std::string_view names[] = {"starting", "up", "suspect", "lost", "gone"};
    return names[static_cast<std::size_t>(state)];
}

bool node_registry::node::is_away() const noexcept {
    bool const returns = state == node_state::starting && was_lost && !was_up;
    return returns || state == node_state::lost || state == node_state::gone;
}

void node_registry::node::lose() {
    state = node_state::lost;
    session.clear();
    was_up = false;
    was_lost = true;
}

nanoseconds node_registry::node::deadline(node_times const& times) const noexcept {
    auto const lost_at = last_message + times.lease + times.ending;
    switch (state) {
        case node_state::starting: return was_up ? lost_at : started + times.start;
        case node_state::up: return last_message + times.silence;
        case node_state::suspect: return lost_at;
        case node_state::lost:
        case node_state::gone: break;
    }
    return nanoseconds{std::numeric_limits<std::int64_t>::max()};
}

void node_registry::start(std::size_t node, std::string session, nanoseconds now) {
    auto& n = nodes_[node];
    RATION_ASSERT(!(n.state == node_state::gone && n.was_up), "a node that has ended by order stays away");
    n.state = node_state::starting;
    n.session = std::move(session);
    n.started = now;
}

bool node_registry::hello(std::size_t node, std::string_view session, nanoseconds now, bool has_kept_jobs) {
    auto& n = nodes_[node];
    if (n.state != node_state::starting || n.session != session) return false;
    if (has_kept_jobs && n.was_lost && !n.was_up) return false;
    n.state = node_state::up;
    n.last_message = now;
    n.was_up = true;
    n.awaits_report = has_kept_jobs;
    if (!has_kept_jobs) release_jobs(node);
    for (auto& job : jobs_)
        for (auto& part : job.parts)
            if (part.node == node) part.number = 0;
    return true;
}

void node_registry::expect(std::size_t job, std::vector<std::size_t> const& nodes, std::size_t assigned, bool leaving,
                           nanoseconds now) {
    jobs_[job].assigned = assigned;
    for (auto const node : nodes) {
        jobs_[job].parts.push_back({.node = node, .number = 0, .leaving = leaving});
        nodes_[node].state = node_state::suspect;
        nodes_[node].was_up = true;
        nodes_[node].last_message = now;
    }
}

bool node_registry::message(std::size_t node, std::string_view session, nanoseconds now) {
    auto& n = nodes_[node];
    bool const is_connected = n.state == node_state::up || n.state == node_state::suspect;
    if (!is_connected || n.session != session) return false;
    n.state = node_state::up;
    n.last_message = now;
    return true;
}

void node_registry::report(std::size_t node, std::uint64_t number, std::span<std::size_t const> present) {
    nodes_[node].awaits_report = false;
    for (std::size_t at = 0; at < jobs_.size(); ++at) {
        if (std::ranges::find(present, at) != present.end()) continue;
        std::erase_if(jobs_[at].parts, [&](part const& p) {
            return p.node == node && (p.leaving || p.number == 0) && number >= p.number;
        });
    }
}

void node_registry::closed(std::size_t node) {
    auto& n = nodes_[node];
    if (n.state == node_state::lost || n.state == node_state::gone) return;
    n.session.clear();  // a message that is still in a buffer does not bring it back
    n.state = n.was_up ? node_state::suspect : n.was_lost ? node_state::lost : node_state::gone;
}

void node_registry::ended(std::size_t node, node_end how) {
    nodes_[node].state = node_state::gone;
    if (how == node_end::without_lease) nodes_[node].lose();
    release_jobs(node);
}

void node_registry::resume(nanoseconds now) {
    for (auto& n : nodes_) n.started = n.last_message = now;
}

void node_registry::advance(nanoseconds now) {
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        auto& n = nodes_[at];
        auto const lost_at = n.last_message + times_.lease + times_.ending;
        // The next agent of a node that was up may wait until the lease of an earlier one is over
        if (n.state == node_state::starting && !n.was_up && now >= n.started + times_.start)
            n.state = n.was_lost ? node_state::lost : node_state::gone;
        if (n.state == node_state::up && now >= n.last_message + times_.silence) n.state = node_state::suspect;
        bool const may_be_lost = n.state == node_state::suspect || (n.state == node_state::starting && n.was_up);
        if (!may_be_lost || now < lost_at) continue;
        n.lose();
        release_jobs(at);
    }
}

void node_registry::assign(std::size_t job, std::vector<node_list> const& lists) {
    for (auto const& list : lists)
        RATION_ASSERT(may_assign(job, list.node), "a job is assigned while it is on no node, to nodes that are up");
    for (auto const& list : lists) jobs_[job].parts.push_back({.node = list.node, .number = list.number});
    jobs_[job].assigned = lists.size();
}

void node_registry::withdraw(std::size_t job, node_list const& list) {
    auto& parts = jobs_[job].parts;
    auto const own = std::ranges::find(parts, list.node, &part::node);
    RATION_ASSERT(own != parts.end(), "a job is withdrawn from a node where it is");
    if (own->leaving) return;
    own->number = list.number;
    own->leaving = true;
}

std::vector<std::size_t> node_registry::nodes_of(std::size_t job) const {
    std::vector<std::size_t> out;
    for (auto const& p : jobs_[job].parts) out.push_back(p.node);
    return out;
}

bool node_registry::is_leaving(std::size_t job) const noexcept {
    return std::ranges::any_of(jobs_[job].parts, &part::leaving);
}

node_registry::part const* node_registry::find(std::size_t job, std::size_t node) const noexcept {
    auto const& parts = jobs_[job].parts;
    auto const found = std::ranges::find(parts, node, &part::node);
    return found == parts.end() ? nullptr : &*found;
}

nanoseconds node_registry::next_change() const noexcept {
    nanoseconds next{std::numeric_limits<std::int64_t>::max()};
    for (auto const& n : nodes_) next = std::min(next, n.deadline(times_));
    return next;
}

void node_registry::release_jobs(std::size_t node) {
    for (auto& job : jobs_) std::erase_if(job.parts, [&](part const& p) { return p.node == node; });
}

}  // namespace ration::program
