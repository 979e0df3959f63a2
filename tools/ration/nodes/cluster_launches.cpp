// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_launches.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>
#include <utility>

#include "common/quantity.hpp"

namespace ration::program {

// --- One launch

node_row const* cluster_launch::lead() const noexcept {
    auto const found = layout.empty() ? rows.end() : rows.find(layout.front().node);
    return found == rows.end() ? nullptr : &found->second;
}

void cluster_launch::note_step(std::uint64_t step) {
    if (step > failed_at) failures = 0;
    has_trained = true;
    auto const* const row = lead();
    if (has_parts())
        trained = layout;
    else if (row != nullptr && row->devices > 0)
        trained = {{layout.front().node, row->devices}};
}

void cluster_launch::note_resize(resize_step what) noexcept {
    if (what == resize_step::stopping || what == resize_step::terminating) has_stopped_training = true;
    if (what == resize_step::failed || what == resize_step::restored) has_stopped_training = false;
}

bool cluster_launch::has_failed_for_good() const noexcept {
    constexpr int most_failures = 3;
    return failures > most_failures;
}

bool cluster_launch::has_stopped() const noexcept {
    auto const* const row = lead();
    return row != nullptr && row->settled && row->granted == 0 && row->devices == 0;
}

node_share const* cluster_launch::unlaunched() const noexcept {
    auto const found = std::ranges::find_if(layout, [&](node_share const& share) {
        auto const row = rows.find(share.node);
        return row == rows.end() || row->second.incarnation < incarnation;
    });
    return found == layout.end() ? nullptr : &*found;
}

std::int64_t cluster_launch::devices() const noexcept {
    std::int64_t sum = 0;
    for (auto const& [node, row] : rows) sum += row.devices;
    return sum;
}

double cluster_launch::attained() const noexcept {
    double sum = attained_before;
    for (auto const& [node, row] : rows) sum += row.attained;
    return sum;
}

// --- All of them

cluster_launches::cluster_launches(cluster_nodes& nodes, cluster_backend const& grants, std::size_t jobs,
                                   bool of_shares)
    : nodes_(nodes), grants_(grants), launches_(jobs),
      port_(static_cast<std::uint16_t>(std::random_device{}() % 10000)), of_shares_(of_shares) {}

bool cluster_launches::moves(std::size_t job) const {
    auto const& layout = launches_[job].layout;
    auto const& target = grants_.grant_of(job).shares;
    if (nodes_.registry().is_free(job) || layout.empty()) return false;
    if (launches_[job].has_parts()) return launches_[job].is_stopping || target != layout;
    return !target.empty() && (target.size() > 1 || target.front().node != layout.front().node);
}

std::int64_t cluster_launches::sent_to(std::size_t job, std::size_t node) const {
    auto const& launch = launches_[job];
    auto const& target = grants_.grant_of(job).shares;
    if (!launch.has_parts()) return target.size() == 1 ? devices_on(target, node) : 0;
    return launch.is_stopping && launch.is_lead(node) ? 0 : devices_on(launch.layout, node);
}

assigned_job cluster_launches::part(std::size_t job, std::size_t node, std::string name,
                                    std::uint32_t incarnations) const {
    auto const& launch = launches_[job];
    assigned_job out{.job = std::move(name),
                     .incarnations = incarnations,
                     .devices = sent_to(job, node),
                     .batch = grants_.grant_of(job).batch};
    if (!launch.layout.empty()) out.part.master = nodes_.address(launch.layout.front().node);
    if (!launch.has_parts()) return out;
    constexpr std::uint32_t first = 20000, count = 10000;  // below the ports that the kernel gives to connections
    out.incarnations = launch.incarnation - 1;
    out.part.nodes = static_cast<std::uint32_t>(launch.layout.size());
    out.part.port = static_cast<std::uint16_t>(first + (port_ + 31 * job + launch.incarnation) % count);
    for (auto const& share : launch.layout) {
        if (share.node < node) out.part.first_rank += ranks(share.devices);
        if (share.node < node) ++out.part.node_rank;
        out.part.world += ranks(share.devices);
    }
    return out;
}

bool cluster_launches::advance(live_job const& live, nanoseconds now) {
    std::size_t const job = live.id.value - 1;
    auto const& registry = nodes_.registry();
    auto& launch = launches_[job];
    auto const& target = grants_.grant_of(job).shares;
    if (registry.is_free(job))
        return !live.over() && may_start(job, target) && assign(job, target, live.run.value, now);
    if (registry.is_leaving(job)) return false;
    bool const can_stop = launch.has_parts() && launch.lead() != nullptr;
    if (can_stop && target != launch.layout && !std::exchange(launch.is_stopping, true))
        nodes_.change_list(launch.layout.front().node);
    bool const can_leave = live.over() || (moves(job) && launch.has_stopped());
    if (can_leave && may_leave(live, now)) withdraw(job);
    return false;
}

bool cluster_launches::others_have_ended(std::size_t job) const noexcept {
    auto const& launch = launches_[job];
    return std::ranges::all_of(launch.layout, [&](node_share const& share) {
        auto const row = launch.rows.find(share.node);
        bool const has_ended = row != launch.rows.end() && is_over(row->second.now);
        return launch.is_lead(share.node) || has_ended || !nodes_.registry().is_on(job, share.node);
    });
}

/// The other ranks end after rank 0, on their own. A part that does not is ended.
bool cluster_launches::may_leave(live_job const& live, nanoseconds now) {
    auto& launch = launches_[live.id.value - 1];
    if (!launch.has_parts() || others_have_ended(live.id.value - 1)) return true;
    if (!launch.ends_since) launch.ends_since = now;
    return now >= *launch.ends_since + live.elastic().deadlines.stop;
}

void cluster_launches::withdraw(std::size_t job) {
    auto& registry = nodes_.registry();
    for (auto const node : registry.nodes_of(job)) registry.withdraw(job, {node, nodes_.change_list(node)});
}

/// All parts start, or none does: the devices of several nodes have to be free before the first part starts.
bool cluster_launches::may_start(std::size_t job, node_shares const& target) const {
    auto const is_ready = [&](node_share const& share) {
        bool const has_devices = occupied(share.node) + share.devices <= nodes_.devices(share.node);
        return nodes_.registry().may_assign(job, share.node) && (target.size() == 1 || has_devices);
    };
    return !target.empty() && std::ranges::all_of(target, is_ready);
}

/// Devices that jobs have on the node, or get with the next list.
std::int64_t cluster_launches::occupied(std::size_t node) const {
    std::int64_t sum = 0;
    for (std::size_t job = 0; job < launches_.size(); ++job) {
        auto const& rows = launches_[job].rows;
        auto const row = rows.find(node);
        auto const has = row == rows.end() ? 0 : row->second.devices;
        sum += std::max(has, nodes_.registry().is_assigned(job, node) ? sent_to(job, node) : 0);
    }
    return sum;
}

bool cluster_launches::assign(std::size_t job, node_shares const& target, std::uint32_t incarnations, nanoseconds now) {
    auto& launch = launches_[job];
    std::vector<node_registry::node_list> lists;
    for (auto const& share : target) lists.push_back({share.node, nodes_.change_list(share.node)});
    nodes_.registry().assign(job, lists);
    launch.layout = target;
    launch.rows.clear();
    launch.is_stopping = launch.has_stopped_training = launch.has_trained = false;
    launch.failure.clear();
    launch.ends_since.reset();
    launch.incarnation = incarnations + 1;
    launch.start.begin(now);
    return launch.has_parts();
}

/// As on one machine, only a job that has trained before has to send a hello. Its first step is needed too: ranks can
/// wait for each other, so that a start without one is not a success.
void cluster_launches::limit_start(live_job const& live, nanoseconds now) {
    std::size_t const job = live.id.value - 1;
    auto& launch = launches_[job];
    bool const is_there = !nodes_.registry().is_free(job) && !nodes_.registry().is_leaving(job) && !live.over();
    bool const is_starting = launch.has_parts() && !launch.has_trained && !launch.is_stopping && launch.failure.empty();
    if (!is_there || !is_starting) return;
    auto const* const unlaunched = launch.unlaunched();
    auto const* const lead = launch.lead();
    bool const has_hello = lead != nullptr && lead->hello;
    if (unlaunched == nullptr) launch.start.advance(has_hello ? start_phase::stepping : start_phase::greeting, now);
    auto const limit = live.elastic().deadlines.start;
    if ((unlaunched == nullptr && launch.trained.empty()) || !launch.start.is_over(now, limit)) return;
    auto const time = duration_text(limit);
    switch (launch.start.phase()) {
        case start_phase::launching:
            launch.failure =
                fmt::format("node {} has not launched its part within {}", nodes_.name(unlaunched->node), time);
            break;
        case start_phase::greeting: launch.failure = fmt::format("rank 0 has sent no hello within {}", time); break;
        case start_phase::stepping:
            launch.failure = fmt::format("it has not trained within {} after the hello of rank 0", time);
            break;
    }
}

void cluster_launches::resume(nanoseconds now) noexcept {
    for (auto& launch : launches_) {
        launch.start.resume(now);
        if (launch.ends_since) launch.ends_since = now;
    }
}

bool cluster_launches::can_return(std::size_t job, node_shares const& shares) const {
    auto const has_room = [&](node_share const& share) {
        std::int64_t granted = share.devices;
        for (std::size_t other = 0; other < launches_.size(); ++other)
            if (other != job) granted += devices_on(grants_.grant_of(other).shares, share.node);
        return nodes_.registry().state(share.node) == node_state::up && granted <= nodes_.devices(share.node);
    };
    return !shares.empty() && std::ranges::all_of(shares, has_room);
}

bool cluster_launches::end_part(std::size_t job, std::size_t node, condition how, std::string const& why) {
    auto& launch = launches_[job];
    bool const ends_by_order = how != condition::stopped || nodes_.is_ending();
    if (!launch.has_parts()) return ends_by_order;
    if (nodes_.registry().is_leaving(job)) return false;
    bool const is_well = how == condition::finished || how == condition::diverged || nodes_.is_ending();
    if (is_well) return launch.is_lead(node);
    // Once rank 0 has saved and stopped, the other ranks have to end, with any exit code
    if (!launch.has_stopped_training && launch.failure.empty())
        launch.failure =
            fmt::format("its part on node {} has ended{}{}", nodes_.name(node), why.empty() ? "" : ": ", why);
    return false;
}

bool cluster_launches::is_lost(live_job const& live) {
    std::size_t const job = live.id.value - 1;
    auto const& registry = nodes_.registry();
    bool const has_lost_node = std::ranges::any_of(
        grants_.grant_of(job).shares, [&](node_share const& share) { return registry.is_away(share.node); });
    bool const has_left = forget_left(job) && registry.is_free(job);
    // A job that waits has left one node for another
    return has_lost_node || registry.is_broken(job) || !launches_[job].failure.empty() || (has_left && !live.waiting());
}

bool cluster_launches::forget_left(std::size_t job) {
    auto& launch = launches_[job];
    return std::erase_if(launch.rows, [&](auto const& entry) {
               bool const has_left = !nodes_.registry().is_on(job, entry.first);
               if (has_left) launch.attained_before += entry.second.attained;
               return has_left;
           }) > 0;
}

std::vector<std::int64_t> devices_of_largest(cluster_nodes const& nodes) {
    std::vector<std::int64_t> out;
    out.reserve(nodes.registry().size());
    for (std::size_t node = 0; node < nodes.registry().size(); ++node) out.push_back(nodes.devices(node));
    std::ranges::sort(out, std::ranges::greater{});
    std::partial_sum(out.begin(), out.end(), out.begin());
    return out;
}

std::int64_t reachable_devices(std::span<std::int64_t const> largest, job_config const& job) {
    auto const most = static_cast<std::size_t>(job.elastic ? job.elastic->most_nodes : 1);
    return largest[std::min(largest.size(), most) - 1];
}

}  // namespace ration::program
