// SPDX-License-Identifier: BSL-1.0
#include "problem.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

#include "events/json_writer.hpp"

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

void diagnostics::sort() {
    // std::stable_sort needs a temporary buffer by a call that newer compilers refuse as deprecated.
    auto const before = [](diagnostic const& a, diagnostic const& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    };
    for (auto one = all_.begin(); one != all_.end(); ++one)
        std::rotate(std::upper_bound(all_.begin(), one, *one, before), one, one + 1);
}

void print_to_stderr(diagnostics const& all, std::string_view prefix) {
    for (auto const& one : all)
        std::fprintf(stderr, "%s%s\n", std::string(prefix).c_str(), printable(to_text(one)).c_str());
}

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
        out += out.empty() ? "; known here: " : ", ";
        out += printable(candidate);
    }
    return out;
}

result<std::uint64_t, diagnostic> parse_seed(std::string_view word) {
    std::uint64_t seed = 0;
    std::from_chars(word.data(), word.data() + word.size(), seed);
    // No sign, and no 0 in front, after which CLI11 would read octal digits
    if (std::to_string(seed) == word) return seed;
    return diagnostic{.text = quoted(word) +
                              " is no seed: write a whole number from 0 to 18446744073709551615, "
                              "without a 0 in front"};
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t length; !text.empty(); text.remove_prefix(std::max<std::size_t>(length, 1))) {
        length = utf8_length(text);
        if (length == 0 || steers_text(text.substr(0, length)))
            out += '?';
        else
            out += text.substr(0, length);
    }
    return out;
}

std::string quote_text::operator()(std::string_view text) const {
    constexpr std::size_t longest = 60;
    if (text.size() <= longest) return "'" + printable(text) + "'";
    std::size_t end = longest;
    // Not in the middle of a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return "'" + printable(text.substr(0, end)) + "...'";
}

}  // namespace ration::program
