// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// Sums of the grants of one job over all nodes.
///
/// The bounds of a job apply to the sum of a resource over all nodes, so `check` needs these sums
/// before it can accept a row.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/detail/zeroed_buffer.hpp>
#include <ration/host/checked_grant.hpp>

namespace ration::detail {

/// The amount of one resource that one job would hold on all nodes together.
struct job_sum {
    /// Job and resource, and the round in which the slot was filled.
    std::uint64_t key = 0, round = 0;
    std::int64_t amount = 0;  ///< the sum over the nodes with a limit
    /// The number of nodes on which the job has no limit.
    std::uint32_t unlimited_nodes = 0;
    bool divided = false;  ///< grants of different groups contribute to it
    /// The group of the grants that contribute.
    std::uint64_t group = 0;

    /// Adds an amount that the job holds now.
    void hold(std::int64_t held) noexcept {
        amount += ledger::counted(held);
        unlimited_nodes += held == unlimited;
    }
    /// Adds the change that a grant makes.
    void add(checked_grant const& g) noexcept {
        divided = divided || g.group() != group;
        unlimited_nodes += g.amount() == unlimited;
        unlimited_nodes -= g.held == unlimited;
        // Above this value the bound is exceeded in any case, and further additions could overflow.
        if (amount <= max_amount) amount += ledger::counted(g.amount()) - ledger::counted(g.held);
    }
};

/// One sum for each job and resource that an answer names; emptied in O(1).
class job_sums {
    zeroed_buffer<job_sum> slots_;
    std::uint64_t round_ = 0;
    int shift_ = 0;

public:
    /// Allocates for this number of sums. The table is at most half full, so that probing stays
    /// short.
    void reserve(std::size_t sums) {
        slots_.reset(std::bit_ceil(sums * 2 + 2));
        shift_ = 64 - std::countr_zero(slots_.size());
    }
    /// Empties the table: slots of earlier rounds count as free.
    void clear() noexcept { ++round_; }

    /// The sum of the grant's job and resource. A new sum starts with the amount that the job
    /// holds. Precondition: fewer sums than reserved. O(1) expected, plus the holdings of the job
    /// at the first call.
    [[nodiscard]] job_sum& of(checked_grant const& g, ledger const& held) noexcept {
        std::uint64_t const key = std::uint64_t{g.job_row()} << 16 | static_cast<std::uint64_t>(g.resource());
        std::size_t const mask = slots_.size() - 1;
        // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio.
        std::size_t i = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
        for (; slots_[i].round == round_; i = (i + 1) & mask)
            if (slots_[i].key == key) return slots_[i];
        slots_[i] = {.key = key, .round = round_, .group = g.group()};
        for (auto const& h : held.of(g.job))
            if (h.what.resource == g.resource()) slots_[i].hold(h.what.amount);
        return slots_[i];
    }
};

}  // namespace ration::detail
