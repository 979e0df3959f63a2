// SPDX-License-Identifier: BSL-1.0
/// Validated grants, and the test whether they fit into the capacities of the nodes.
///
/// Shared by check (which rejects groups over capacity), settle (which repeats the test after it
/// has deferred groups) and the engine (which repeats it while it applies them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/grant.hpp>
#include <ration/host/ledger.hpp>

namespace ration {

/// A validated grant, with the row of the answer. It has 24 bytes, since there can be 100 000 of
/// them in a tick.
struct checked_grant {
    /// The job, by id.
    job_id job;
    std::int64_t held = 0;         ///< present amount of the job there
    grant const* asked = nullptr;  ///< row of the policy's answer; valid until the next call of the policy

    [[nodiscard]] constexpr std::uint32_t node() const noexcept { return asked->node; }  ///< row of the nodes table
    /// The resource.
    [[nodiscard]] constexpr resource_id resource() const noexcept { return static_cast<resource_id>(asked->resource); }
    /// The granted amount, in the resource's unit.
    [[nodiscard]] constexpr std::int64_t amount() const noexcept { return asked->amount; }
    /// The setting to apply.
    [[nodiscard]] constexpr setting what() const noexcept { return {job, node(), resource(), amount()}; }
    /// Row of the jobs table.
    [[nodiscard]] constexpr std::uint32_t job_row() const noexcept { return asked->job; }
    /// The policy's reason code, an index into `meta::reasons`.
    [[nodiscard]] constexpr std::uint16_t reason() const noexcept { return asked->reason; }
    /// Equal for rows that are applied all or none.
    [[nodiscard]] std::uint64_t group() const noexcept {
        return asked->group == 0 ? asked->job : std::uint64_t{1} << 32 | asked->group;
    }
    /// The change of the node's reservations by the grant; negative for a release.
    [[nodiscard]] std::int64_t growth() const noexcept {
        return ledger::promised(amount(), resource()) - ledger::promised(held, resource());
    }
};

/// The end of the group that starts at `first`. Rows are sorted by group. O(group).
[[nodiscard]] inline std::size_t end_of_group(std::span<checked_grant const> rows, std::size_t first) noexcept {
    std::size_t last = first + 1;
    while (last < rows.size() && rows[last].group() == rows[first].group()) ++last;
    return last;
}

/// The reservations of each node while groups of grants are added one after another. No sum
/// overflows: a claim is refused at its first row beyond the capacity.
class reservations {
    buffer<std::int64_t> sums_;    // node-major
    buffer<std::uint64_t> begun_;  // in which round the sum was begun; in any other the ledger's holds
    std::size_t resources_ = 0;
    ledger const* held_ = nullptr;
    std::uint64_t round_ = 0;

public:
    /// Allocates for this number of nodes and resources.
    void prepare(std::size_t nodes, std::size_t resources) {
        sums_.reset(nodes * resources);
        begun_.reset(nodes * resources);
        resources_ = resources;
        round_ = 0;
    }

    /// Starts from the present holdings. Until the last use, `held` may change only where `at` was
    /// called before. O(1).
    void start(ledger const& held) noexcept {
        held_ = &held;
        ++round_;
    }

    /// The reservations of one resource on a node. The reference is for callers that update the sum
    /// themselves.
    [[nodiscard]] std::int64_t& at(std::uint32_t node, resource_id resource) noexcept {
        std::size_t const place = node * resources_ + static_cast<std::size_t>(resource);
        if (begun_[place] != round_) {
            sums_[place] = held_->sum(node, resource);
            begun_[place] = round_;
        }
        return sums_[place];
    }

    /// Subtracts the releases of a group.
    void yield(std::span<checked_grant const> group) noexcept {
        for (auto const& g : group)
            if (g.growth() < 0) at(g) += g.growth();
    }

    /// Adds the claims of a group if they fit on every node; otherwise returns false and changes
    /// nothing.
    template <class Capacity>
    [[nodiscard]] bool claim(std::span<checked_grant const> group, Capacity const& capacity) noexcept {
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (group[i].growth() <= 0) continue;
            at(group[i]) += group[i].growth();
            if (at(group[i]) <= capacity(group[i].node(), group[i].resource())) continue;
            // Roll back the rows that were added before the failure.
            for (std::size_t taken = 0; taken <= i; ++taken)
                if (group[taken].growth() > 0) at(group[taken]) -= group[taken].growth();
            return false;
        }
        return true;
    }

    /// Subtracts the releases and adds the claims of a group, if the claims fit then; otherwise
    /// returns false and changes nothing.
    template <class Capacity>
    [[nodiscard]] bool exchange(std::span<checked_grant const> group, Capacity const& capacity) noexcept {
        yield(group);
        if (claim(group, capacity)) return true;
        for (auto const& g : group)
            if (g.growth() < 0) at(g) -= g.growth();
        return false;
    }
    /// Undoes `exchange`.
    void revert(std::span<checked_grant const> group) noexcept {
        for (auto const& g : group) at(g) -= g.growth();
    }

private:
    [[nodiscard]] std::int64_t& at(checked_grant const& g) noexcept { return at(g.node(), g.resource()); }
};

/// Drops whole groups until the reservations of no node exceed its capacity.
class capacity_fit {
    enum class outcome : std::uint8_t { in, out, out_for_good };
    reservations reservations_;
    buffer<outcome> fates_;  // by row

public:
    /// Allocates for the largest answer.
    void prepare(std::size_t nodes, std::size_t resources, std::size_t rows) {
        reservations_.prepare(nodes, resources);
        fates_.reset(rows);
    }

    /// Drops groups that do not fit. If groups compete for the last units, the earlier one stays; a
    /// group that claims too much does not affect others. `capacity(node, resource)` is called with
    /// existing nodes, and `dropped(row)` for each dropped row. `rows` has to be sorted by group,
    /// and stays sorted. O(rows) for each round; a further round is only needed if a dropped group
    /// would have released something.
    template <class Capacity, class Dropped>
    void fit(ledger const& held, buffer<checked_grant>& rows, Capacity capacity, Dropped dropped) noexcept {
        for (std::size_t i = 0; i < rows.size(); ++i) fates_[i] = outcome::in;
        while (!one_round(held, rows.view(), capacity)) {
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (fates_[i] == outcome::in)
                rows[kept++] = rows[i];
            else
                dropped(rows[i]);
        rows.resize(kept);
    }

private:
    /// Subtracts all releases, then adds the claims group by group. Returns false if a dropped
    /// group would have released something, so that the sums of the others are wrong.
    template <class Capacity>
    [[nodiscard]] bool one_round(ledger const& held, std::span<checked_grant const> rows,
                                 Capacity const& capacity) noexcept {
        reservations_.start(held);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (fates_[i] == outcome::out_for_good) continue;
            fates_[i] = outcome::in;
            reservations_.yield(rows.subspan(i, 1));
        }
        for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
            last = end_of_group(rows, first);
            auto const group = rows.subspan(first, last - first);
            if (fates_[first] == outcome::out_for_good || reservations_.claim(group, capacity)) continue;
            bool const others_relied = gives_back(group);
            for (std::size_t i = first; i < last; ++i) fates_[i] = others_relied ? outcome::out_for_good : outcome::out;
            if (others_relied) return false;
        }
        return true;
    }

    /// True if a row of the group releases something.
    [[nodiscard]] static bool gives_back(std::span<checked_grant const> group) noexcept {
        bool any = false;
        for (auto const& g : group) any |= g.growth() < 0;
        return any;
    }
};

}  // namespace ration
