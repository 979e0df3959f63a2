// SPDX-License-Identifier: BSL-1.0
/// The settings of launch parameters among which `ration measure tune` searches.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// "threads=1,2,4".
struct parameter_values {
    std::string name;
    std::vector<std::string> values;  ///< at least one, each once
};

/// "ranks * threads <= 8": a product of parameters and numbers that may not exceed a limit.
struct fit_rule {
    std::vector<std::string> names;
    double factor = 1;
    double most = 0;
};

/// A value for each parameter of a space, in its order.
using parameter_setting = std::vector<std::string>;

inline constexpr std::size_t most_settings = 100'000;

/// Errors: no '=', a name that no parameter can have, no value, or a value twice.
[[nodiscard]] result<parameter_values, diagnostic> parse_parameter_values(std::string_view word);
/// Errors: no '<=', or a factor that is neither a name nor a number above 0.
[[nodiscard]] result<fit_rule, diagnostic> parse_fit_rule(std::string_view word);

/// All settings that keep every rule; the last parameter varies fastest. Errors: two lists of one parameter; too many
/// settings, or none that fits. Also a rule on a parameter that is not in the space, or that has a value other than a
/// number.
[[nodiscard]] result<std::vector<parameter_setting>, diagnostic> settings_of(std::vector<parameter_values> const& space,
                                                                             std::vector<fit_rule> const& rules);

/// "threads=2 tile=16".
[[nodiscard]] std::string setting_text(std::vector<parameter_values> const& space, parameter_setting const& one);

}  // namespace ration::program
