// SPDX-License-Identifier: BSL-1.0
/// The options of `ration measure serve`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct serve_measure_options {
    std::string file;
    std::vector<std::string> jobs;   ///< one or two; empty: those with a parameter `socket`
    nanoseconds limit = seconds(1);  ///< of the 95th percentile of the latency
    nanoseconds time = seconds(5);   ///< of one pass
    std::uint32_t first_rate = 10;   ///< requests per second
    std::uint32_t repeat = 3;        ///< measurements of each rate
    std::uint64_t seed = 1;          ///< of the times of requests
    bool json = false;
};

}  // namespace ration::program
