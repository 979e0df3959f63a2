// SPDX-License-Identifier: BSL-1.0
#include "error_text.hpp"

#include <cstring>

#include <fmt/core.h>

namespace ration::program {

std::string to_text(error const& e) {
    std::string text = e.operation;
    if (!e.subject.empty()) text += fmt::format(" {}", e.subject.view());
    text += fmt::format(": {}", name_of(e.code));
    if (e.system != 0) text += fmt::format(" ({})", ::strerrordesc_np(e.system));
    if (*e.remedy != '\0') text += fmt::format("; {}", e.remedy);
    return text;
}

}  // namespace ration::program
