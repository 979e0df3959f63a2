// SPDX-License-Identifier: BSL-1.0
#include "cli_checks.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "problem.hpp"
#include "sim/fault_options.hpp"
#include "sim/input.hpp"

namespace ration::program {

namespace {

constexpr int most_cpus = 4096;
constexpr std::size_t longest_name = 40;  // with what the templates put around it, it fits every field of a manifest

}  // namespace

result<backend_choice, diagnostic> parse_backend(std::string_view word) {
    std::vector<std::string_view> names;
    for (auto const& [name, choice] : backend_names) {
        if (name == word) return choice;
        names.push_back(name);
    }
    return diagnostic{.text = "there is no backend " + program::quoted(word) + suggestion(word, names)};
}

result<void, diagnostic> check_cpus(std::string const& word) {
    bool const digits = !word.empty() && word.size() <= 4 && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits && std::stoi(word) >= 1 && std::stoi(word) <= most_cpus) return {};
    return diagnostic{.text = fmt::format("{} is no number of cores from 1 to {}", program::quoted(word), most_cpus)};
}

result<void, diagnostic> check_policy_name(std::string_view name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                               others = "0123456789-_";
    bool const good = !name.empty() && name.size() <= longest_name && letters.find(name.front()) != letters.npos &&
                      std::ranges::all_of(name, [&](char c) {
                          return letters.find(c) != letters.npos || others.find(c) != others.npos;
                      });
    if (good) return {};
    return diagnostic{.text = fmt::format("{} is no name for a policy: take up to {} letters, digits, '-' and '_', "
                                          "with a letter in front",
                                          program::quoted(name), longest_name)};
}

result<void, diagnostic> check_faults(std::string_view word) {
    sim::fault_rates nothing;
    return add_fault_kind(word, nothing);
}

result<void, diagnostic> check_setting(std::string_view word) {
    run_config nobody;
    return add_setting(word, nobody);
}

result<void, diagnostic> check_time(std::string_view word) {
    if (parse_sim_time(word)) return {};
    return diagnostic{.text = program::quoted(word) +
                              " is no time: write seconds, or a number with ms, s, m or h, up to 365 days"};
}

/// Written out, since CLI11's own range lets "nan" pass.
result<void, diagnostic> check_share(std::string_view word) {
    double share = 0;
    auto const [end, failed] = std::from_chars(word.data(), word.data() + word.size(), share);
    bool const whole = failed == std::errc{} && end == word.data() + word.size();
    if (whole && share >= 0 && share <= 0.99) return {};
    return diagnostic{.text = program::quoted(word) + " is not a share: write a number from 0 to 0.99"};
}

result<void, diagnostic> check_on_bad_grant(std::string_view word) {
    if (word == "go-on" || word == "stop") return {};
    return diagnostic{.text = "it may be go-on or stop, not " + program::quoted(word) +
                              suggestion(word, {"go-on", "stop"})};
}

result<void, diagnostic> check_language(std::string_view word) {
    auto const known = template_languages();
    if (std::ranges::find(known, word) != known.end()) return {};
    return diagnostic{.text = "there are no templates in " + program::quoted(word) + suggestion(word, known)};
}

}  // namespace ration::program
