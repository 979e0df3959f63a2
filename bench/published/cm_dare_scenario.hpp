// SPDX-License-Identifier: BSL-1.0
// All that is compared with CM-DARE.
#pragma once

#include <string>

#include "cm_dare.hpp"
#include "cm_dare_detector.hpp"
#include "cm_dare_workers.hpp"

namespace published {

/// `data`: the folder bench/data.
[[nodiscard]] inline findings cm_dare_scenario(std::string const& data) {
    findings found;
    auto const curves = cm_dare::curves_of(data);
    cm_dare::speed_table(curves, found);
    cm_dare::detector_table(curves, found);
    cm_dare::estimator_table(curves, found);
    cm_dare::second_server(curves, found);
    cm_dare::lifetime_table(found);
    cm_dare::worker_table(found);
    return found;
}

}  // namespace published
