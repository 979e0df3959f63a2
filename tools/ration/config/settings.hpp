// SPDX-License-Identifier: BSL-1.0
/// Parameters of policies on the command line: `--set`, and the parameter sets of `ration run --compare`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/result.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"

namespace ration::program {

/// Adds the parameter of `las.promote=0`. Errors: another form, or a parameter that was added before.
[[nodiscard]] result<void, diagnostic> add_setting(std::string_view text, run_config& into);

/// Adds all words of `--set`. Each has to be of one of `policies`. `used` is the verb for them in a diagnostic, as
/// in "run".
void add_settings(std::vector<std::string> const& words, std::vector<std::string> const& policies,
                  std::string_view used, run_config& into, diagnostics& problems);

/// Gives the policy these parameters, in the place of those of the same names.
void override_parameters(policy_parameters const& given, run_config& into);

/// A policy with the parameters that the command line names.
struct policy_choice {
    std::string policy;  ///< a name, or the path of a .so
    std::vector<parameter> parameters{};
    std::string label{};  ///< as on the command line: "tradl:scenario=AO,alpha=0.9"
};

/// The words of a list such as `none,tradl:scenario=AO,alpha=0.9`, in which a comma always separates two words. Begins
/// a policy, and returns its name, unless the word has the form NAME=VALUE: then it is a further parameter of the
/// policy before it, and the result is empty.
[[nodiscard]] std::optional<std::string_view> policy_of_word(std::string_view word) noexcept;

/// The policies of such a list. Errors: a parameter without a policy or a name, or one that a policy has twice.
[[nodiscard]] result<std::vector<policy_choice>, diagnostic> read_choices(std::vector<std::string> const& words);

/// The config with the parameters of the choice.
[[nodiscard]] run_config with_parameters(run_config config, policy_choice const& choice);

/// Two choices that run one policy with the same parameters, as a sentence; empty if all differ.
[[nodiscard]] std::string repeated_choice(std::vector<policy_choice> const& choices, run_config const& config);

}  // namespace ration::program
