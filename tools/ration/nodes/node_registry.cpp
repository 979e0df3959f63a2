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

void node_registry::start(std::size_t node, std::string session, nanoseconds now) {
    auto& n = nodes_[node];
    RATION_ASSERT(n.state != node_state::lost && !(n.state == node_state::gone && n.was_up),
                  "a node that is away stays away");
    n.state = node_state::starting;
    n.session = std::move(session);
    n.started = now;
}

bool node_registry::hello(std::size_t node, std::string_view session, nanoseconds now) {
    auto& n = nodes_[node];
    if (n.state != node_state::starting || n.session != session) return false;
    n.state = node_state::up;
    n.heard = now;
    n.was_up = true;
    release_jobs(node);
    return true;
}

bool node_registry::message(std::size_t node, std::string_view session, nanoseconds now) {
    auto& n = nodes_[node];
    bool const speaks = n.state == node_state::up || n.state == node_state::suspect;
    if (!speaks || n.session != session) return false;
    n.state = node_state::up;
    n.heard = now;
    return true;
}

void node_registry::report(std::size_t node, std::uint64_t number, std::span<std::size_t const> present) {
    for (std::size_t at = 0; at < jobs_.size(); ++at) {
        auto& job = jobs_[at];
        if (job.node != node || !job.leaving || number < job.number) continue;
        if (std::ranges::find(present, at) == present.end()) job = {};
    }
}

void node_registry::closed(std::size_t node) {
    auto& n = nodes_[node];
    if (is_away(n.state)) return;
    n.session.clear();  // a message that is still in a buffer does not bring it back
    n.state = n.was_up ? node_state::suspect : node_state::gone;
}

void node_registry::ended(std::size_t node) {
    nodes_[node].state = node_state::gone;
    release_jobs(node);
}

/// When a node that stays silent is suspect, lost or gone.
nanoseconds node_registry::deadline_of(node const& n) const noexcept {
    auto const lost_at = n.heard + times_.lease + times_.ending;
    switch (n.state) {
        case node_state::starting: return n.was_up ? lost_at : n.started + times_.start;
        case node_state::up: return n.heard + times_.silence;
        case node_state::suspect: return lost_at;
        case node_state::lost:
        case node_state::gone: break;
    }
    return nanoseconds{std::numeric_limits<std::int64_t>::max()};
}

void node_registry::advance(nanoseconds now) {
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        auto& n = nodes_[at];
        auto const lost_at = n.heard + times_.lease + times_.ending;
        // The next agent of a node that was up may wait until the lease of an earlier one is over
        if (n.state == node_state::starting && !n.was_up && now >= n.started + times_.start) n.state = node_state::gone;
        if (n.state == node_state::up && now >= n.heard + times_.silence) n.state = node_state::suspect;
        bool const may_be_lost = n.state == node_state::suspect || (n.state == node_state::starting && n.was_up);
        if (!may_be_lost || now < lost_at) continue;
        n.state = node_state::lost;
        release_jobs(at);
    }
}

void node_registry::assign(std::size_t job, std::size_t node, std::uint64_t number) {
    RATION_ASSERT(may_assign(job, node), "a job is assigned to one node that is up");
    jobs_[job] = {.node = node, .number = number, .leaving = false};
}

void node_registry::withdraw(std::size_t job, std::uint64_t number) {
    RATION_ASSERT(jobs_[job].node, "a job is withdrawn from its node");
    if (jobs_[job].leaving) return;
    jobs_[job].number = number;
    jobs_[job].leaving = true;
}

nanoseconds node_registry::next_change() const noexcept {
    nanoseconds next{std::numeric_limits<std::int64_t>::max()};
    for (auto const& n : nodes_) next = std::min(next, deadline_of(n));
    return next;
}

void node_registry::release_jobs(std::size_t node) {
    for (auto& job : jobs_)
        if (job.node == node) job = {};
}

}  // namespace ration::program
