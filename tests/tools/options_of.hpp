// SPDX-License-Identifier: BSL-1.0
// The options that a command line gives a command.
#pragma once

#include <memory>
#include <variant>

#include "command_line/command_line.hpp"
#include "support/catch.hpp"

template <class Options>
[[nodiscard]] Options options_of(ration::program::parsed_command_line const& parsed) {
    using namespace ration::program;
    if (auto const* const reply = std::get_if<answer>(&parsed)) FAIL(reply->text);
    auto const* const asked = dynamic_cast<command_with<Options> const*>(std::get<1>(parsed).get());
    REQUIRE(asked != nullptr);
    return asked->options();
}
