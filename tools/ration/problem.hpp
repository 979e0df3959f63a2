// SPDX-License-Identifier: BSL-1.0
/// What is wrong in a file that a person wrote, and where.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// A place in a text file, counted from 1; line 0 means the file as a whole.
struct position {
    std::uint32_t line = 0, column = 0;
    friend auto operator<=>(position, position) noexcept = default;
};

/// One sentence: what is wrong and what to do.
struct problem {
    position at;
    std::string sentence;
};

/// "jobs.toml:12:9: sentence", without a newline; the place is left out when it is the file as a whole.
[[nodiscard]] std::string to_text(problem const& p, std::string_view file);

/// Into the order of the file; those of one place stay in their order. O(n^2), for lists that people read.
void sort_by_place(std::vector<problem>& problems);

/// The candidate that `word` is most likely a slip of, or empty. Allows one slip in short words, up to three in long
/// ones; two neighbouring characters swapped are one slip. O(candidates x length^2).
[[nodiscard]] std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates);

/// "; did you mean 'tradl'?" when there is a nearest candidate, otherwise "; known here: a, b, c".
[[nodiscard]] std::string suggestion(std::string_view word, std::vector<std::string_view> const& candidates);

/// What is wrong with a word of the command line that is to be a seed; empty when nothing is.
[[nodiscard]] std::string problem_with_seed(std::string const& word);

/// `text` with '?' for each character that `steers_text`, and for each byte that is not UTF-8. Every text from outside
/// passes through it on its way to a terminal or a page.
[[nodiscard]] std::string printable(std::string_view text);

/// `printable` text in single quotes, cut after 60 bytes. An object, since argument-dependent lookup would find
/// std::quoted besides a function: newer standard libraries declare that one in <filesystem> already.
struct quote_text {
    [[nodiscard]] std::string operator()(std::string_view text) const;
};
inline constexpr quote_text quoted;

}  // namespace ration::program
