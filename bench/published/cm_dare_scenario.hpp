// SPDX-License-Identifier: BSL-1.0
// All that is compared with CM-DARE.
#pragma once

#include <string>

#include "cm_dare.hpp"
#include "cm_dare_detector.hpp"
#include "cm_dare_saves.hpp"
#include "cm_dare_workers.hpp"

namespace published {

struct cm_dare_options {
    /// Of the control for revoked workers; nullptr: they stay. Transient ones break it.
    sim::server_lifetime const* control_servers = nullptr;
    cm_dare::saving_jobs saving{};
    /// Of the control for checkpoints. A lifetime of servers breaks it.
    sim::fault_rates constant{.loss_every = cm_dare::mean_lifetime, .repair = 90};
};

/// `data`: the folder bench/data.
[[nodiscard]] inline findings cm_dare_scenario(std::string const& data, cm_dare_options const& options = {}) {
    findings found;
    auto const curves = cm_dare::curves_of(data);
    cm_dare::speed_table(curves, found);
    cm_dare::detector_table(curves, found);
    cm_dare::estimator_table(curves, found);
    cm_dare::second_server(curves, found);
    cm_dare::lifetime_table(found);
    cm_dare::worker_table(found, options.control_servers);
    cm_dare::save_table(found, options.saving, options.constant);
    return found;
}

}  // namespace published
