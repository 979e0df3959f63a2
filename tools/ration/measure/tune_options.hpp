// SPDX-License-Identifier: BSL-1.0
/// The options of `ration measure tune`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

struct tune_options {
    std::string file;
    std::string job;                      ///< empty: the only job with `parameters`
    std::vector<std::string> candidates;  ///< words of `parse_parameter_values`, each valid
    std::vector<std::string> fit;         ///< words of `parse_fit_rule`, each valid
    std::uint32_t runs = 0;               ///< launches at most; 0: every setting is launched
    std::uint32_t repeat = 5;             ///< rounds of the finalists alone
    std::uint64_t seed = 1;
    nanoseconds time = seconds(10);    ///< of one measurement, after its warm-up
    nanoseconds warm_up = seconds(3);  ///< from the first step
    bool json = false, write = false;
};

}  // namespace ration::program
