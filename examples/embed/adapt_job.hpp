// SPDX-License-Identifier: BSL-1.0
// The columns of a job of scheduler.hpp, in ration's units.
#pragma once

#include <ration/adapt/adapt.hpp>

#include "scheduler.hpp"

// [adapt]
BOOST_HANA_ADAPT_ADT(campus::job, (id, [](auto const& j) { return j.number(); }),
                     (loss, [](auto const& j) { return j.loss(); }),
                     (used_cpu, [](auto const& j) { return 1000 * j.cores(); }), (target, [](auto const& j) {
                         return *ration::two_tier_target::make(
                             {.acceptable = j.good_enough(), .objective = j.perfect()});
                     }));
// [adapt]
