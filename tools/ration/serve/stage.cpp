// SPDX-License-Identifier: BSL-1.0
#include "serve/stage.hpp"

#include <algorithm>

namespace ration::program {
namespace {

constexpr std::size_t stages = stage_names.size();

/// Row: from; column: to; both in the order of the enumeration.
constexpr std::array<std::array<bool, stages>, stages> followers{{
    // queued pending deploying downloading processing storing completed failed halted
    {false, true, false, false, false, false, false, true, true},  // queued
    {true, false, true, false, false, false, false, true, true},   // pending
    {true, false, false, true, true, true, true, true, true},      // deploying
    {true, false, false, false, true, true, true, true, true},     // downloading
    {true, false, false, false, false, true, true, true, true},    // processing
    {true, false, false, false, true, false, true, true, true},    // storing
    {},                                                            // completed
    {},                                                            // failed
    {},                                                            // halted
}};

}  // namespace

std::optional<stage> stage_named(std::string_view name) noexcept {
    auto const found = std::ranges::find(stage_names, name);
    if (found == stage_names.end()) return std::nullopt;
    return static_cast<stage>(found - stage_names.begin());
}

bool may_follow(stage from, stage to) noexcept {
    return followers[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace ration::program
