// SPDX-License-Identifier: BSL-1.0
/// The options of `ration measure phases`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct phases_options {
    std::vector<std::string> logs;      ///< event logs of runs, or folders with one
    std::uint32_t phases = 5;           ///< of each class
    nanoseconds period = seconds(2);    ///< from one sample to the next
    nanoseconds horizon = seconds(60);  ///< for which the demand is estimated
    std::uint64_t seed = 123;
    bool json = false;
};

}  // namespace ration::program
