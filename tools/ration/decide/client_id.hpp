// SPDX-License-Identifier: BSL-1.0
/// The name of a job or a node, as the client chose it: a number or a text.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "events/json_writer.hpp"

namespace ration::program {

using client_id = std::variant<std::uint64_t, std::string>;

inline void write_value(json_writer& json, client_id const& id) {
    std::visit([&](auto const& value) { json.value(value); }, id);
}

/// As messages name it: 7, "vae".
[[nodiscard]] std::string text_of(client_id const& id);

}  // namespace ration::program
