// SPDX-License-Identifier: BSL-1.0
#include "view/text_table.hpp"

#include <algorithm>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/zip.hpp>

#include "view/screen_line.hpp"

namespace ration::program {

std::string aligned(std::vector<std::vector<std::string>> const& lines) {
    if (lines.empty()) return {};
    std::vector<std::size_t> widths(lines.front().size());
    for (auto const& line : lines)
        for (auto&& [width, cell] : ranges::views::zip(widths, line))
            width = std::max<std::size_t>(width, columns_of(cell));
    std::string out;
    for (auto const& line : lines) {
        std::string text = line.front() + std::string(widths.front() - columns_of(line.front()), ' ');
        for (auto&& [width, cell] : ranges::views::zip(widths, line) | ranges::views::drop(1))
            text += "  " + std::string(width - columns_of(cell), ' ') + cell;
        out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
    }
    return out;
}

std::string aligned_with_texts(std::vector<std::vector<std::string>> lines) {
    std::size_t width = 0;
    for (auto const& line : lines) width = std::max<std::size_t>(width, columns_of(line.back()));
    for (auto& line : lines) line.back().append(width - columns_of(line.back()), ' ');
    return aligned(lines);
}

}  // namespace ration::program
