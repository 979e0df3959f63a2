// SPDX-License-Identifier: BSL-1.0
/// The words of `ration sim --noise`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/prediction_noise.hpp>

namespace ration::program {

/// Adds "remaining=0.5", without the name of the table. The diagnostic does not name the option.
[[nodiscard]] result<void, diagnostic> add_noise(std::string_view text, sim::prediction_noise& into);

/// "remaining=0.5" for each column that is not exact, in a fixed order.
[[nodiscard]] std::vector<std::string> noise_words(sim::prediction_noise const& noise);

}  // namespace ration::program
