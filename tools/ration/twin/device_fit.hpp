// SPDX-License-Identifier: BSL-1.0
/// The speed of a recorded job by its devices, and the cost of a change of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include <ration/sim/rate_model.hpp>

#include "twin/recording.hpp"

namespace ration::program {

struct device_speeds {
    std::map<std::int64_t, double> measured;  ///< steps per second by number of devices
    /// Of a step on k devices, in seconds: `fixed` + `divided` / k, the best fit to the measured speeds
    double fixed = 0, divided = 0;
    double restart = 0;  ///< mean seconds without progress after the job got devices, or other ones

    [[nodiscard]] double at(std::int64_t devices) const {
        auto const found = measured.find(devices);
        return found != measured.end() ? found->second : 1 / (fixed + divided / static_cast<double>(devices));
    }
};

/// None if the job made no two steps on unchanged devices.
[[nodiscard]] std::optional<device_speeds> device_speeds_of(recording const& run, job_measurements const& job);

/// The speeds as a model for up to `most` devices.
[[nodiscard]] std::shared_ptr<sim::rate_model const> rate_model_of(device_speeds const& speeds, std::int64_t most);

}  // namespace ration::program
