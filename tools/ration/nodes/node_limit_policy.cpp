// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_limit_policy.hpp"

#include <algorithm>
#include <tuple>

#include <ration/host/no_memory.hpp>

#include "nodes/policy_tables.hpp"

namespace ration::program {
namespace {

constexpr auto device_number = static_cast<std::uint16_t>(resource_id::gpu);

}  // namespace

result<void> node_limit_policy::bind(std::span<column_info const> schema, limits const& most) noexcept {
    return or_no_memory("bind the policy of several nodes", {}, [&]() -> result<void> {
        auto const id = slot_of(schema, "jobs/id"), minimum = slot_of(schema, "jobs/min.gpu");
        if (!id || !minimum) return id ? minimum.failure() : id.failure();
        id_slot_ = *id;
        minimum_slot_ = *minimum;
        space_.resize(most.grants());
        parts_.reserve(2 * most.grants());
        return inner().bind(schema, most);
    });
}

status node_limit_policy::decide(tick_data const& t, grants& out) noexcept {
    grants answer(space_);
    auto const reply = inner().decide(t, answer);
    if (reply != status::ok) return reply;
    if (answer.overflowed()) return status::capacity;
    list_parts(answer.rows(), t);
    limit_parts(t);
    for (auto const& g : answer.rows())
        if (passes(g) && !out.add(g)) return status::capacity;
    return status::ok;
}

/// The nodes of each job after the answer, with those that it holds already and keeps.
void node_limit_policy::list_parts(std::span<grant const> answer, tick_data const& t) {
    parts_.clear();
    for (auto const& g : answer)
        if (g.resource == device_number && g.job < t.data[table_id::jobs].rows)
            parts_.push_back({g.job, g.node, g.amount, false});
    std::ranges::sort(parts_, {}, &part::job);
    std::size_t const given = parts_.size();
    for (std::size_t first = 0; first < given;) {
        auto const job = parts_[first].job;
        std::size_t last = first;
        while (last < given && parts_[last].job == job) ++last;
        for (auto const& held : nodes_(job_value<std::uint64_t>(t, id_slot_, job)).held) {
            auto const node = static_cast<std::uint32_t>(held.node);
            auto const begin = parts_.begin() + static_cast<std::ptrdiff_t>(first);
            auto const end = parts_.begin() + static_cast<std::ptrdiff_t>(last);
            auto const own = std::find_if(begin, end, [&](part const& p) { return p.node == node; });
            if (own != end)
                own->stays = true;
            else
                parts_.push_back({job, node, held.devices, true});
        }
        first = last;
    }
    std::erase_if(parts_, [](part const& p) { return p.amount == 0; });
    std::ranges::sort(parts_, {}, [](part const& p) { return std::tuple(p.job, !p.stays, -p.amount, p.node); });
}

/// Of each job only the first parts remain, and none if a part has to go and the others are too few.
void node_limit_policy::limit_parts(tick_data const& t) {
    for (std::size_t first = 0; first < parts_.size();) {
        auto const job = parts_[first].job;
        auto const all = parts_of(job);
        first += all.size();
        auto const most = nodes_(job_value<std::uint64_t>(t, id_slot_, job)).most;
        if (all.size() <= most) continue;
        std::int64_t sum = 0;
        for (auto const& p : all.first(most)) sum += p.amount;
        auto const kept = sum < job_value<std::int64_t>(t, minimum_slot_, job) ? 0 : most;
        for (auto& p : all.subspan(kept)) p.amount = 0;
    }
}

/// Rows of devices pass if their part remains. A job none of whose parts remains keeps all that it has.
bool node_limit_policy::passes(grant const& g) const noexcept {
    if (g.resource != device_number) return true;
    auto const of_job = std::ranges::equal_range(parts_, g.job, {}, &part::job);
    if (of_job.empty()) return true;
    bool const is_left_out = std::ranges::all_of(of_job, [](part const& p) { return p.amount == 0; });
    if (is_left_out) return false;
    auto const own = std::ranges::find(of_job, g.node, &part::node);
    return g.amount == 0 || (own != of_job.end() && own->amount > 0);
}

std::span<node_limit_policy::part> node_limit_policy::parts_of(std::uint32_t job) noexcept {
    auto const found = std::ranges::equal_range(parts_, job, {}, &part::job);
    return {found.begin(), found.end()};
}

}  // namespace ration::program
