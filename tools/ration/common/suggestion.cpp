// SPDX-License-Identifier: BSL-1.0
#include "common/suggestion.hpp"

#include <algorithm>

#include "common/printable.hpp"

namespace ration::program {

namespace {

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`. O(|a| x |b|).
[[nodiscard]] std::size_t slips_between(std::string_view a, std::string_view b) {
    std::size_t const columns = b.size() + 1;
    std::vector<std::size_t> cost((a.size() + 1) * columns);
    auto const at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * columns + j]; };
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                at(i, j) = i + j;
                continue;
            }
            std::size_t best = std::min(at(i - 1, j), at(i, j - 1)) + 1;
            best = std::min(best, at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = std::min(best, at(i - 2, j - 2) + 1);
            at(i, j) = best;
        }
    }
    return cost.back();
}

constexpr std::size_t longest_compared = 64;

}  // namespace

std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates) {
    if (word.size() > longest_compared) return {};
    std::size_t const allowed = std::clamp<std::size_t>(word.size() / 3, 1, 3);
    std::string_view best;
    std::size_t least = allowed + 1;
    for (auto const candidate : candidates) {
        if (candidate.size() > longest_compared) continue;
        if (std::size_t const slips = slips_between(word, candidate); slips < least) {
            least = slips;
            best = candidate;
        }
    }
    return best;
}

std::string suggestion(std::string_view word, std::vector<std::string_view> const& candidates) {
    if (auto const best = nearest(word, candidates); !best.empty()) return "; did you mean '" + printable(best) + "'?";
    std::string out;
    for (auto const candidate : candidates) {
        out += out.empty() ? "; use one of: " : ", ";
        out += printable(candidate);
    }
    return out;
}

}  // namespace ration::program
