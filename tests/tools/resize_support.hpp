// SPDX-License-Identifier: BSL-1.0
/// What the tests of resizes share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/resize.hpp"

/// Names of CPU devices.
[[nodiscard]] inline std::vector<std::string> names(std::uint32_t count) {
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < count; ++i) out.push_back("cpu-" + std::to_string(i));
    return out;
}

[[nodiscard]] inline ration::program::resize_rules short_rules() {
    using ration::seconds;
    return {.deadlines = {.save = seconds(10), .stop = seconds(5), .start = seconds(20)}, .terminate = seconds(2), .clear = seconds(3), .wait = seconds(60), .back_off = seconds(30)};
}
