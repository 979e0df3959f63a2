// SPDX-License-Identifier: BSL-1.0
/// Puts `speedup` into the text of a jobs file. All other bytes stay as they are.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// "[0, 1, 1.82]", with four significant digits.
[[nodiscard]] std::string speedup_text(std::span<double const> speedup);

/// `text` with `speedup` as the list of a job: instead of its present list, or in a new line below its `bounds` or its
/// `name`. The result was parsed again, and differs from `text` in nothing else. `job`: its index in the file. Errors:
/// the text is not TOML or has no such job, its present list has comments, or the file has no line for the key.
[[nodiscard]] result<std::string, diagnostic> with_speedup(std::string_view text, std::size_t job,
                                                           std::span<double const> speedup);

}  // namespace ration::program
