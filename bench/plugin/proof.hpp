// SPDX-License-Identifier: BSL-1.0
// The check of an answer, as in an engine.
#pragma once

#include <iterator>
#include <span>

#include <ration/host/check.hpp>

#include "scene.hpp"

namespace plugin_bench {

struct validation {
    ledger held;
    checker check;
    buffer<checked_grant> accepted;
    buffer<rejection> rejected;

    explicit validation(scene const& on) {
        std::size_t const nodes = on.store.rows(table_id::nodes);
        held.reset(nodes, std::size(standard_resources), on.space.size());
        check.prepare(on.store, on.columns, standard_resources, nodes, on.space.size());
        accepted.reserve(on.space.size());
        rejected.reserve(on.space.size());
    }
    /// This number of grants is valid.
    std::size_t of(std::span<grant const> reply) {
        check.check(held, reply, accepted, rejected);
        return accepted.size();
    }
};

}  // namespace plugin_bench
