// SPDX-License-Identifier: BSL-1.0
#include "nodes/pool_placement.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace ration::program {
namespace {

/// Fewer devices for a job, on the nodes that it has.
[[nodiscard]] node_shares shrunk(node_shares shares, std::int64_t wanted) {
    auto surplus = devices_in(shares) - wanted;
    while (surplus > 0) {
        // Of equal shares the last one goes, so that rank 0 stays
        auto const smallest = std::ranges::min_element(shares, [](node_share const& a, node_share const& b) {
            return std::pair(a.devices, b.node) < std::pair(b.devices, a.node);
        });
        auto const taken = std::min(surplus, smallest->devices);
        smallest->devices -= taken;
        surplus -= taken;
        if (smallest->devices == 0) shares.erase(smallest);
    }
    return shares;
}

class placer {
    std::vector<std::int64_t> left_;  // devices of each node

public:
    explicit placer(std::span<std::int64_t const> capacity) : left_(capacity.begin(), capacity.end()) {}

    [[nodiscard]] bool fit(node_shares const& shares) const {
        return std::ranges::all_of(shares, [&](node_share const& s) { return s.devices <= left_[s.node]; });
    }
    void take(node_shares const& shares) {
        for (auto const& share : shares) left_[share.node] -= share.devices;
    }
    void give_back(node_shares const& shares) {
        for (auto const& share : shares) left_[share.node] += share.devices;
    }

    /// The best shares of a job that holds nothing in `left_`.
    [[nodiscard]] node_shares best(pooled_job const& job) const {
        if (auto const node = one_node(job)) return {{*node, job.wanted}};
        auto near = gathered(job, true);
        auto any = gathered(job, false);
        auto& more = devices_in(any) > devices_in(near) ? any : near;
        std::ranges::sort(more, {}, &node_share::node);
        return more;
    }

private:
    /// One that has all devices of the job.
    [[nodiscard]] std::optional<std::size_t> one_node(pooled_job const& job) const {
        std::optional<std::size_t> best;
        auto const rank = [&](std::size_t node) { return std::pair(-devices_on(job.nodes.held, node), left_[node]); };
        for (std::size_t node = 0; node < left_.size(); ++node)
            if (left_[node] >= job.wanted && (!best || rank(node) < rank(*best))) best = node;
        return best;
    }

    /// From the nodes with the most devices, `near`: first from those of the job.
    [[nodiscard]] node_shares gathered(pooled_job const& job, bool near) const {
        std::vector<std::size_t> order(left_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t node) {
            return std::tuple(near ? -devices_on(job.nodes.held, node) : 0, -left_[node], node);
        });
        node_shares out;
        std::int64_t missing = job.wanted;
        for (auto const node : order) {
            auto const share = std::min(missing, left_[node]);
            if (share <= 0 || out.size() == job.nodes.most) continue;
            out.push_back({node, share});
            missing -= share;
        }
        return out;
    }
};

}  // namespace

std::vector<node_shares> place_in_nodes(std::span<std::int64_t const> capacity, std::span<pooled_job const> jobs) {
    placer nodes(capacity);
    std::vector<node_shares> out(jobs.size());
    std::vector<std::size_t> changing;
    for (std::size_t at = 0; at < jobs.size(); ++at) {
        auto const& [wanted, least, own] = jobs[at];
        auto const held = devices_in(own.held);
        out[at] = wanted <= held ? shrunk(own.held, std::max<std::int64_t>(0, wanted)) : own.held;
        bool const fits = nodes.fit(out[at]);  // its node can have lost devices
        if (!fits) out[at] = {};
        nodes.take(out[at]);
        if (wanted > held || !fits) changing.push_back(at);
    }
    std::ranges::sort(changing, {}, [&](std::size_t at) { return std::pair(-jobs[at].wanted, at); });
    for (auto const at : changing) {
        nodes.give_back(out[at]);
        auto better = nodes.best(jobs[at]);
        bool const gains = devices_in(better) > devices_in(out[at]) && devices_in(better) >= jobs[at].least;
        if (gains) out[at] = std::move(better);
        nodes.take(out[at]);
    }
    return out;
}

}  // namespace ration::program
