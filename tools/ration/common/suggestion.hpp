// SPDX-License-Identifier: BSL-1.0
/// Words that were probably meant, for messages about unknown ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// The candidate that `word` is most likely a slip of, or empty. Allows one slip in short words, up to three in long
/// ones; two neighbouring characters swapped are one slip. O(candidates x length^2).
[[nodiscard]] std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates);

/// "; did you mean 'tradl'?" when there is a nearest candidate, otherwise "; use one of: a, b, c".
[[nodiscard]] std::string suggestion(std::string_view word, std::vector<std::string_view> const& candidates);

}  // namespace ration::program
