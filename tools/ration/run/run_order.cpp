// SPDX-License-Identifier: BSL-1.0
#include "run/run_order.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ration::program {
namespace {

/// "tradl-scenario=AO": the name of the policy, which may be that of any file, and its parameters on the command line.
[[nodiscard]] std::string folder_of(policy_choice const& choice) {
    constexpr std::size_t longest = 100;
    std::string name(policy_stem(choice.policy));
    name += choice.label.substr(std::min(choice.policy.size(), choice.label.size()));
    for (char& c : name) {
        bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("._=+-").find(c) != std::string_view::npos;
        if (!plain) c = '-';
    }
    return name.substr(0, longest);
}

/// Those of different choices differ.
[[nodiscard]] std::vector<std::string> folders_of(std::vector<policy_choice> const& choices) {
    std::vector<std::string> folders;
    for (auto const& choice : choices) {
        auto const plain = folder_of(choice);
        auto name = plain;
        for (int number = 2; std::ranges::find(folders, name) != folders.end(); ++number)
            name = fmt::format("{}-{}", plain, number);
        folders.push_back(std::move(name));
    }
    return folders;
}

}  // namespace

std::vector<planned_run> order_runs(std::vector<policy_choice> const& choices, std::uint32_t rounds) {
    std::vector<planned_run> all;
    auto const folders = folders_of(choices);
    for (std::uint32_t round = 1; round <= rounds; ++round)
        for (std::size_t i = 0; i < choices.size(); ++i) {
            std::size_t const place = round % 2 == 1 ? i : choices.size() - 1 - i;
            auto const suffix = rounds > 1 ? fmt::format("-round-{}", round) : std::string();
            all.push_back({choices[place], round, rounds, folders[place] + suffix});
        }
    return all;
}

}  // namespace ration::program
