// SPDX-License-Identifier: BSL-1.0
/// What `ration bench` is asked to measure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ration::program {

struct bench_options {
    std::vector<std::string> policies;                ///< names or paths of a .so
    std::vector<std::uint32_t> jobs{1, 100, 10'000};  ///< one cluster for each of these
    std::vector<std::uint32_t> devices{64, 1024};     ///< and each of these
    std::vector<std::string> settings;                ///< as `add_setting` takes them
    std::uint64_t seed = 1;
    bool in_process = false;  ///< a .so is asked without a worker
    bool json = false;
};

}  // namespace ration::program
