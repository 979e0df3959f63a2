// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/host/checked_grant.hpp>

namespace ration::detail {

/// What one job would hold of one resource on all nodes together.
struct job_sum {
    std::uint64_t key = 0, round = 0;
    std::int64_t amount = 0;  ///< where there is a limit
    std::uint32_t unlimited_nodes = 0;
    bool divided = false;  ///< grants in different groups add to it
    std::uint64_t group = 0;

    void hold(std::int64_t held) noexcept {
        amount += ledger::counted(held);
        unlimited_nodes += held == unlimited;
    }
    void add(checked_grant const& g) noexcept {
        divided = divided || g.group() != group;
        unlimited_nodes += g.amount() == unlimited;
        unlimited_nodes -= g.held == unlimited;
        // Beyond, it is more than all that any job may have
        if (amount <= max_amount) amount += ledger::counted(g.amount()) - ledger::counted(g.held);
    }
};

/// One such sum for each job and resource that an answer names; emptied in O(1).
class job_sums {
    buffer<job_sum> slots_;
    std::uint64_t round_ = 0;
    int shift_ = 0;

public:
    void reserve(std::size_t sums) {
        slots_.reset(std::bit_ceil(sums * 2 + 2));
        shift_ = 64 - std::countr_zero(slots_.size());
    }
    void clear() noexcept { ++round_; }

    /// The sum of the grant's job and resource, which begins with what the job holds. Precondition: fewer sums than
    /// reserved.
    [[nodiscard]] job_sum& of(checked_grant const& g, ledger const& held) noexcept {
        std::uint64_t const key = std::uint64_t{g.job_row()} << 16 | static_cast<std::uint64_t>(g.resource());
        std::size_t const mask = slots_.size() - 1;
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
