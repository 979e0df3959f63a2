// SPDX-License-Identifier: BSL-1.0
/// The options of `ration measure scaling`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct scaling_options {
    std::string file;
    std::string job;                    ///< empty: the only job with devices
    std::vector<std::int64_t> devices;  ///< empty: `default_sizes`
    std::uint32_t repeat = 3;           ///< measurements of each number of devices
    nanoseconds time = seconds(10);     ///< of one measurement, after its warm-up
    nanoseconds warm_up = seconds(3);   ///< from the first step
    bool json = false, write = false;
};

}  // namespace ration::program
