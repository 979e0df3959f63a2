// SPDX-License-Identifier: BSL-1.0
#include "command_line/option_checks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "config/settings.hpp"
#include "metrics/endpoint.hpp"

namespace ration::program {

namespace {

[[nodiscard]] result<void, diagnostic> check_policy(std::string const& name, std::vector<std::string> const& known) {
    if (!name.empty() && (is_plugin_path(name) || std::ranges::find(known, name) != known.end())) return {};
    return diagnostic{.text =
                          "unknown policy " + program::quoted(name) + suggestion(name, {known.begin(), known.end()})};
}

}  // namespace

std::function<std::string(std::string const&)> number_check(int most, char const* things) {
    return checked_by([most, things](std::string const& word) -> result<void, diagnostic> {
        bool const digits =
            !word.empty() && word.size() <= 4 && word.find_first_not_of("0123456789") == std::string::npos;
        if (digits && std::stoi(word) >= 1 && std::stoi(word) <= most) return {};
        return diagnostic{
            .text = fmt::format("{} is not a number of {} from 1 to {}", program::quoted(word), things, most)};
    });
}

std::function<std::string(std::string const&)> policy_check(option_context const& context) {
    return checked_by([&context](std::string const& name) { return check_policy(name, context.policies); });
}

std::function<std::string(std::string const&)> choice_check(option_context const& context) {
    return checked_by([&context](std::string const& word) -> result<void, diagnostic> {
        auto const policy = policy_of_word(word);
        return policy ? check_policy(std::string(*policy), context.policies) : result<void, diagnostic>{};
    });
}

void add_setting_option(CLI::App& to, std::vector<std::string>& into, char const* help) {
    auto const check = [](std::string_view word) {
        run_config nobody;
        return add_setting(word, nobody);
    };
    to.add_option("--set", into, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->type_name("POLICY.NAME=VALUE")
        ->check(checked_by(check));
}

CLI::Option* add_metrics_option(CLI::App& to, std::string& into, option_context& context) {
    auto* const metrics = to.add_option(
        "--metrics", into,
        "Serve metrics over HTTP, as OpenMetrics or Prometheus text, while jobs run; docs/operations.md lists them");
    metrics->type_name("unix:PATH|127.0.0.1:PORT")->check(checked_by(parse_endpoint));
    context.offers[metrics] = {.words = {"unix:", "127.0.0.1:", "[::1]:"}};
    return metrics;
}

result<std::uint64_t, diagnostic> parse_seed(std::string_view word) {
    std::uint64_t seed = 0;
    std::from_chars(word.data(), word.data() + word.size(), seed);
    // No sign, and no 0 in front, after which CLI11 would read octal digits
    if (std::to_string(seed) == word) return seed;
    return diagnostic{.text = quoted(word) +
                              " is not a seed: write a whole number from 0 to 18446744073709551615, "
                              "without a 0 in front"};
}

}  // namespace ration::program
