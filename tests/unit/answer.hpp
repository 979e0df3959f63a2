// SPDX-License-Identifier: BSL-1.0
// A policy's answer, checked against a host.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ration/host/check.hpp>

#include "host.hpp"

namespace unit {

struct answer {
    host const& on;
    ration::checker checker;
    std::vector<ration::grant> asked;
    ration::buffer<ration::checked_grant> accepted;
    ration::buffer<ration::rejection> rejected;

    explicit answer(host const& h, std::size_t most_rows = 64) : on(h) {
        checker.prepare(h.store, h.columns, ration::standard_resources, h.store.rows(table_id::nodes), most_rows);
        accepted.reserve(most_rows);
        rejected.reserve(most_rows);
    }

    void check(std::vector<ration::grant> rows) {
        asked = std::move(rows);
        checker.check(on.held, asked, accepted, rejected);
    }
    /// The place in the answer of a grant that passed.
    [[nodiscard]] std::size_t row_of(ration::checked_grant const& g) const {
        return static_cast<std::size_t>(g.asked - asked.data());
    }

    /// `passed` for a row that was not refused.
    [[nodiscard]] ration::check_rule rule_of(std::uint32_t row) const {
        for (auto const& r : rejected)
            if (r.row == row) return r.rule;
        return ration::check_rule::passed;
    }
};

}  // namespace unit
