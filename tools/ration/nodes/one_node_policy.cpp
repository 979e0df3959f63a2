// SPDX-License-Identifier: BSL-1.0
#include "nodes/one_node_policy.hpp"

#include <algorithm>

#include <ration/host/no_memory.hpp>

namespace ration::program {
namespace {

constexpr auto gpu_number = static_cast<std::uint16_t>(resource_id::gpu);

template <class T>
[[nodiscard]] T value_at(tick_data const& t, std::uint32_t slot, std::size_t row) noexcept {
    return static_cast<T const*>(t.data[table_id::jobs].slot[slot])[row];
}

}  // namespace

result<void> one_node_policy::bind(std::span<column_info const> schema, limits const& most) noexcept {
    return or_no_memory("bind the policy of several nodes", {}, [&]() -> result<void> {
        auto const* const id = find_column(schema, "jobs/id");
        auto const* const minimum = find_column(schema, "jobs/min.gpu");
        if (id == nullptr || minimum == nullptr)
            return error{
                .code = errc::not_found, .operation = "bind the policy of several nodes", .subject = "jobs/min.gpu"};
        id_slot_ = id->slot;
        minimum_slot_ = minimum->slot;
        space_.resize(most.grants());
        parts_.reserve(2 * most.grants());
        return policy_.bind(schema, most);
    });
}

status one_node_policy::decide(tick_data const& t, grants& out) noexcept {
    grants answer(space_);
    auto const reply = policy_.decide(t, answer);
    if (reply != status::ok) return reply;
    if (answer.overflowed()) return status::capacity;
    list_parts(answer.rows(), t);
    for (auto const& g : answer.rows()) {
        auto const parts = parts_of(g.job);
        if (g.resource == gpu_number && parts.size() > 1) {
            auto const best = chosen(parts, t);
            if (!best) continue;
            if (best->node != g.node && g.amount > 0) continue;
        }
        if (!out.add(g)) return status::capacity;
    }
    return status::ok;
}

/// The nodes of each job after the answer, with what it holds already and keeps.
void one_node_policy::list_parts(std::span<grant const> answer, tick_data const& t) {
    parts_.clear();
    for (auto const& g : answer)
        if (g.resource == gpu_number && g.job < t.data[table_id::jobs].rows)
            parts_.push_back({g.job, g.node, g.amount});
    std::size_t const given = parts_.size();
    for (std::size_t i = 0; i < given; ++i) {
        auto const held = holding_(value_at<std::uint64_t>(t, id_slot_, parts_[i].job));
        if (!held) continue;
        auto const same = [&](part const& p) { return p.job == parts_[i].job && p.node == held->first; };
        if (std::ranges::none_of(parts_, same)) parts_.push_back({parts_[i].job, held->first, held->second});
    }
    std::erase_if(parts_, [](part const& p) { return p.amount == 0; });
    std::ranges::sort(parts_, {}, [](part const& p) { return std::pair(p.job, p.node); });
}

std::span<one_node_policy::part const> one_node_policy::parts_of(std::uint32_t job) const noexcept {
    auto const found = std::ranges::equal_range(parts_, job, {}, &part::job);
    return {found.begin(), found.end()};
}

std::optional<one_node_policy::part> one_node_policy::chosen(std::span<part const> parts, tick_data const& t) const {
    auto const job = parts.front().job;
    auto const held = holding_(value_at<std::uint64_t>(t, id_slot_, job));
    auto best = std::ranges::max_element(parts, {}, &part::amount);
    if (held)
        if (auto const own = std::ranges::find(parts, held->first, &part::node); own != parts.end()) best = own;
    if (best->amount < value_at<std::int64_t>(t, minimum_slot_, job)) return std::nullopt;
    return *best;
}

}  // namespace ration::program
