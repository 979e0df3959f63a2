// SPDX-License-Identifier: BSL-1.0
#include "nodes/pool_policy.hpp"

#include <algorithm>
#include <span>

#include <ration/host/no_memory.hpp>

#include "nodes/policy_tables.hpp"

namespace ration::program {
namespace {

constexpr auto pooled_number = static_cast<std::uint16_t>(resource_id::gpu);

/// The grant of a policy, moved to one node.
[[nodiscard]] grant placed_on(grant from, std::size_t node, std::int64_t devices) noexcept {
    from.node = static_cast<std::uint32_t>(node);
    from.amount = devices;
    return from;
}

}  // namespace

bool answers_for_one_pool(any_policy const& policy) noexcept {
    return !policy.reads("held/node") && !policy.reads("nodes/free.gpu");
}

result<void> pool_policy::bind(std::span<column_info const> schema, limits const& most) noexcept {
    return or_no_memory("bind the policy of several nodes", {}, [&]() -> result<void> {
        auto const id = slot_of(schema, "jobs/id"), minimum = slot_of(schema, "jobs/min.gpu"),
                   capacity = slot_of(schema, "nodes/capacity.gpu");
        for (auto const* const slot : {&id, &minimum, &capacity})
            if (!*slot) return slot->failure();
        id_slot_ = *id;
        minimum_slot_ = *minimum;
        capacity_slot_ = *capacity;
        is_sum_.clear();
        for (auto const& column : schema) {
            if (column.table != table_id::nodes) continue;
            is_sum_.resize(std::max<std::size_t>(is_sum_.size(), column.slot + 1));
            is_sum_[column.slot] = column.type == column_type::i64 && column.width == 1;
        }
        sums_.resize(is_sum_.size());
        columns_.resize(is_sum_.size());
        space_.resize(most.grants());
        return inner().bind(schema, most);
    });
}

status pool_policy::decide(tick_data const& t, grants& out) noexcept {
    if (!is_pooled_() || t.data[table_id::nodes].rows < 2) return inner().decide(t, out);
    add_up(t.data[table_id::nodes]);
    std::array<table_view const*, table_count> tables{};
    std::copy_n(t.data.tables, tables.size(), tables.begin());
    tables[static_cast<std::size_t>(table_id::nodes)] = &pool_;
    auto asked = t;
    asked.data.tables = tables.data();
    asked.changes = nullptr;  // the rows of the pool are others than those of the list
    grants answer(space_);
    auto const reply = inner().decide(asked, answer);
    if (reply != status::ok) return reply;
    bool const fits = !answer.overflowed() && place(answer.rows(), t, out);
    return fits ? status::ok : status::capacity;
}

void pool_policy::add_up(table_view const& nodes) noexcept {
    for (std::size_t slot = 0; slot < columns_.size(); ++slot) {
        columns_[slot] = nodes.slot[slot];
        if (!is_sum_[slot]) continue;
        std::int64_t sum = 0;
        for (auto const value : std::span(static_cast<std::int64_t const*>(nodes.slot[slot]), nodes.rows)) sum += value;
        sums_[slot].values.front() = sum;
        columns_[slot] = sums_[slot].values.data();
    }
    pool_ = nodes;
    pool_.rows = 1;
    pool_.slot = columns_.data();
}

/// By row. A job that the answer does not name keeps what it has.
std::vector<pooled_job> pool_policy::jobs_to_place(std::span<grant const> answer, tick_data const& t) const {
    std::vector<pooled_job> out(t.data[table_id::jobs].rows);
    for (std::size_t row = 0; row < out.size(); ++row) {
        out[row].nodes = nodes_(job_value<std::uint64_t>(t, id_slot_, row));
        out[row].wanted = devices_in(out[row].nodes.held);
        out[row].least = job_value<std::int64_t>(t, minimum_slot_, row);
    }
    for (auto const& g : answer)
        if (g.resource == pooled_number && g.job < out.size()) out[g.job].wanted = g.amount;
    return out;
}

bool pool_policy::place(std::span<grant const> answer, tick_data const& t, grants& out) const {
    auto const& nodes = t.data[table_id::nodes];
    auto const* const capacity = static_cast<std::int64_t const*>(nodes.slot[capacity_slot_]);
    auto const jobs = jobs_to_place(answer, t);
    auto const shares = place_in_nodes({capacity, nodes.rows}, jobs);
    for (auto const& g : answer) {
        if (g.resource != pooled_number || g.job >= jobs.size()) {
            if (!out.add(g)) return false;
            continue;
        }
        auto const& held = jobs[g.job].nodes.held;
        auto const& given = shares[g.job];
        for (auto const& left : held)
            if (devices_on(given, left.node) == 0 && !out.add(placed_on(g, left.node, 0))) return false;
        for (auto const& share : given)
            if (!out.add(placed_on(g, share.node, share.devices))) return false;
        if (held.empty() && given.empty() && !out.add(placed_on(g, 0, 0))) return false;
    }
    return true;
}

}  // namespace ration::program
