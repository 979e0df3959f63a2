// SPDX-License-Identifier: BSL-1.0
#include "common/error_text.hpp"

#include <cstring>
#include <fmt/core.h>
#include <string_view>

#include <ration/plugin/host/fault.hpp>

namespace ration::program {

std::string to_text(error const& e) {
    // A sentence of the plugin's own
    if (std::string_view(e.operation) == plugin::start_operation) return e.subject.c_str();
    std::string text = e.operation;
    if (!e.subject.empty()) text += fmt::format(" {}", e.subject.view());
    text += fmt::format(": {}", name_of(e.code));
    if (e.system != 0) text += fmt::format(" ({})", ::strerrordesc_np(e.system));
    if (*e.remedy != '\0') text += fmt::format("; {}", e.remedy);
    return text;
}

}  // namespace ration::program
