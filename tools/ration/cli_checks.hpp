// SPDX-License-Identifier: BSL-1.0
/// Checks of single words of the command line. Each returns the fault of the word, or an empty text: the form that
/// CLI11 requires.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "run.hpp"

namespace ration::program {

inline constexpr std::pair<std::string_view, backend_choice> backend_names[] = {
    {"auto", backend_choice::automatic}, {"cgroup", backend_choice::cgroup}, {"process", backend_choice::process}};
[[nodiscard]] std::string problem_with_backend(std::string const& word);
[[nodiscard]] std::string problem_with_endpoint(std::string const& word);
[[nodiscard]] std::string problem_with_cpus(std::string const& word);
[[nodiscard]] std::string problem_with_name(std::string const& name);
[[nodiscard]] std::string problem_with_cluster(std::string const& word);
[[nodiscard]] std::string problem_with_generator(std::string const& word);
[[nodiscard]] std::string problem_with_faults(std::string const& word);
[[nodiscard]] std::string problem_with_setting(std::string const& word);
[[nodiscard]] std::string problem_with_time(std::string const& word);
[[nodiscard]] std::string problem_with_share(std::string const& word);
[[nodiscard]] std::string problem_with_word(std::string const& word);
[[nodiscard]] std::string problem_with_language(std::string const& word);

}  // namespace ration::program
