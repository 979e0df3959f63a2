// SPDX-License-Identifier: BSL-1.0
// A policy on its own: a host's columns in, its grants out.
#pragma once

#include <utility>
#include <vector>

#include <ration/policy.hpp>

#include "host.hpp"

namespace unit {

template <class P>
struct asked {
    host on;
    P policy;
    ration::binding<typename P::inputs> bound;
    ration::status reply = ration::status::ok;

    explicit asked(std::size_t jobs, P p = P{}, std::size_t nodes = 1) : on(jobs, nodes), policy(std::move(p)) {
        bound = must(ration::bind_columns<typename P::inputs>(on.store.schema()));
        if constexpr (ration::has_prepare<P>) static_cast<void>(policy.prepare({.jobs = 16, .nodes = nodes}));
    }

    /// The answer at this second, within a space of `space` rows.
    std::vector<ration::grant> decide(double second = 0, std::size_t space = 16) {
        std::vector<ration::grant> rows(space);
        ration::grants out(rows);
        ration::tick_data const data{.number = 0,
                                     .seed = 0,
                                     .now = ration::seconds(second),
                                     .budget = ration::seconds(1),
                                     .data = on.store.view()};
        reply = policy.decide(ration::tick<typename P::inputs>(data, bound), out);
        rows.resize(out.rows().size());
        return rows;
    }

    void use(std::size_t row, double millicores) { on.store[on.of(resource_id::cpu).used][row] = millicores; }
    void tier(std::size_t row, std::uint32_t t) { on.store[on.columns.tier][row] = t; }
    void add_job(std::uint64_t id) {
        std::size_t const row = on.store.rows(table_id::jobs);
        must(on.store.resize(table_id::jobs, row + 1));
        on.store[on.columns.id][row] = id;
        on.set_state(row, job_state::running);
        for (auto const& r : on.columns.resources) on.store[r.maximum][row] = ration::unlimited;
    }
};

}  // namespace unit
