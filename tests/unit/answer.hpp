// SPDX-License-Identifier: BSL-1.0
// A policy's answer, checked against a host.
#pragma once

#include <cstddef>
#include <vector>

#include <ration/check.hpp>

#include "host.hpp"

namespace unit {

struct answer {
    host const& on;
    ration::checker checker;
    ration::buffer<ration::checked_grant> accepted;
    ration::buffer<ration::rejection> rejected;

    explicit answer(host const& h, std::size_t most_rows = 64) : on(h) {
        checker.prepare(h.store, h.columns, ration::standard_resources, h.store.rows(table_id::nodes), most_rows);
        accepted.reserve(most_rows);
        rejected.reserve(most_rows);
    }

    void check(std::vector<ration::grant> const& rows) { checker.check(on.held, rows, accepted, rejected); }

    /// `passed` for a row that was not refused.
    [[nodiscard]] ration::check_rule rule_of(std::uint32_t row) const {
        for (auto const& r : rejected)
            if (r.row == row) return r.rule;
        return ration::check_rule::passed;
    }
};

}  // namespace unit
