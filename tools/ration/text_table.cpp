// SPDX-License-Identifier: BSL-1.0
#include "text_table.hpp"

#include <algorithm>

#include "screen_line.hpp"

namespace ration::program {

std::string aligned(std::vector<std::vector<std::string>> const& lines) {
    if (lines.empty()) return {};
    std::vector<std::size_t> widths(lines.front().size());
    for (auto const& line : lines)
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max<std::size_t>(widths[i], columns_of(line[i]));
    std::string out;
    for (auto const& line : lines) {
        std::string text = line.front() + std::string(widths.front() - columns_of(line.front()), ' ');
        for (std::size_t i = 1; i < line.size(); ++i) text += "  " + std::string(widths[i] - columns_of(line[i]), ' ') + line[i];
        out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
    }
    return out;
}

}  // namespace ration::program
