// SPDX-License-Identifier: BSL-1.0
/// The version as text.
#pragma once

#include <string>

#include <ration/version.hpp>

namespace ration::program {

/// "1.2.3".
[[nodiscard]] inline std::string version_text() {
    return std::to_string(RATION_VERSION_MAJOR) + '.' + std::to_string(RATION_VERSION_MINOR) + '.' +
           std::to_string(RATION_VERSION_PATCH);
}

}  // namespace ration::program
