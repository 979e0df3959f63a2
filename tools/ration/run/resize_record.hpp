// SPDX-License-Identifier: BSL-1.0
/// The part of a resize that the record of a run stores, and from which a later start of ration continues.
#pragma once

#include <cstdint>

#include "run/resize_phase.hpp"
#include "run/run_devices.hpp"

namespace ration::program {

/// Devices are numbers of the run's table.
struct resize_record {
    resize_phase now = resize_phase::queued;
    std::int64_t wanted = 0;
    device_list holds, next, origin;  ///< of its process; of the new size; of the old size, for a roll back
    bool falls_back = false, returning = false, control = false, has_saved = false, finishing = false;
    double cost = 0;         ///< seconds, as last measured
    std::int64_t batch = 0;  ///< granted
};

}  // namespace ration::program
