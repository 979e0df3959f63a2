// SPDX-License-Identifier: BSL-1.0
/// Grants that passed every check, and the fitting of them into what the nodes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/grant.hpp>
#include <ration/host/ledger.hpp>

namespace ration {

/// A grant that passed, beside the row that asked for it: 24 bytes, since there may be 100 000 of them on a tick.
struct checked_grant {
    job_id job;
    std::int64_t held = 0;         ///< what the job holds of it there now
    grant const* asked = nullptr;  ///< the row of the policy's answer, which lives until the policy is asked again

    [[nodiscard]] constexpr std::uint32_t node() const noexcept { return asked->node; }  ///< row of the nodes table
    [[nodiscard]] constexpr resource_id resource() const noexcept { return static_cast<resource_id>(asked->resource); }
    /// In the resource's unit.
    [[nodiscard]] constexpr std::int64_t amount() const noexcept { return asked->amount; }
    /// What is to be put into force.
    [[nodiscard]] constexpr setting what() const noexcept { return {job, node(), resource(), amount()}; }
    [[nodiscard]] constexpr std::uint32_t job_row() const noexcept { return asked->job; }
    /// The policy's code.
    [[nodiscard]] constexpr std::uint16_t reason() const noexcept { return asked->reason; }
    /// Equal for rows that go all or none.
    [[nodiscard]] std::uint64_t group() const noexcept {
        return asked->group == 0 ? asked->job : std::uint64_t{1} << 32 | asked->group;
    }
    /// What the grant adds to the node's promises; negative when it gives back.
    [[nodiscard]] std::int64_t growth() const noexcept {
        return ledger::promised(amount(), resource()) - ledger::promised(held, resource());
    }
};

/// The end of the group that begins at `first`. Rows are sorted by group.
[[nodiscard]] inline std::size_t end_of_group(std::span<checked_grant const> rows, std::size_t first) noexcept {
    std::size_t last = first + 1;
    while (last < rows.size() && rows[last].group() == rows[first].group()) ++last;
    return last;
}

/// What each node promises of each resource while groups of grants are taken in one after another. No sum overflows: a
/// claim is refused as soon as one of its rows goes beyond the capacity.
class reservations {
    buffer<std::int64_t> sums_;    // node-major
    buffer<std::uint64_t> begun_;  // in which round the sum was begun; in any other the ledger's holds
    std::size_t resources_ = 0;
    ledger const* held_ = nullptr;
    std::uint64_t round_ = 0;

public:
    void prepare(std::size_t nodes, std::size_t resources) {
        sums_.reset(nodes * resources);
        begun_.reset(nodes * resources);
        resources_ = resources;
        round_ = 0;
    }

    /// Begins with what is held. Until the last use that may change only at places that were asked for before. O(1).
    void start(ledger const& held) noexcept {
        held_ = &held;
        ++round_;
    }

    /// The sum of one place, for a caller that keeps it itself.
    [[nodiscard]] std::int64_t& at(std::uint32_t node, resource_id resource) noexcept {
        std::size_t const place = node * resources_ + static_cast<std::size_t>(resource);
        if (begun_[place] != round_) {
            sums_[place] = held_->sum(node, resource);
            begun_[place] = round_;
        }
        return sums_[place];
    }

    /// What the group gives back is free from now on.
    void yield(std::span<checked_grant const> group) noexcept {
        for (auto const& g : group)
            if (g.growth() < 0) at(g) += g.growth();
    }

    /// The group takes what it takes if every node has it; otherwise false, and nothing has changed.
    template <class Capacity>
    [[nodiscard]] bool claim(std::span<checked_grant const> group, Capacity const& capacity) noexcept {
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (group[i].growth() <= 0) continue;
            at(group[i]) += group[i].growth();
            if (at(group[i]) <= capacity(group[i].node(), group[i].resource())) continue;
            for (std::size_t taken = 0; taken <= i; ++taken)
                if (group[taken].growth() > 0) at(group[taken]) -= group[taken].growth();
            return false;
        }
        return true;
    }

    /// The group gives back and takes, if what it takes fits then; otherwise false, and nothing has changed.
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

/// Drops whole groups until no node promises more than it has.
class capacity_fit {
    enum class outcome : std::uint8_t { in, out, out_for_good };
    reservations reservations_;
    buffer<outcome> fates_;  // by row

public:
    void prepare(std::size_t nodes, std::size_t resources, std::size_t rows) {
        reservations_.prepare(nodes, resources);
        fates_.reset(rows);
    }

    /// Of groups that compete for the last units the earlier one stays, and one that asks for too much costs the others
    /// nothing. `capacity(node, resource)` is asked for whole nodes; `dropped(row)` is called for each row that goes.
    /// `rows` must be sorted by group, and stays so. O(rows) for each round; a round follows only when a group was
    /// dropped that would have given something back.
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
    /// All groups give back, then each claims in its turn; false when one is dropped on whose giving back others have
    /// relied.
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

    [[nodiscard]] static bool gives_back(std::span<checked_grant const> group) noexcept {
        bool any = false;
        for (auto const& g : group) any |= g.growth() < 0;
        return any;
    }
};

}  // namespace ration
