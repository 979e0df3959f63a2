// SPDX-License-Identifier: BSL-1.0
#include "decide/client_id.hpp"

#include <fmt/format.h>

#include "common/printable.hpp"

namespace ration::program {

std::string text_of(client_id const& id) {
    auto const* const number = std::get_if<std::uint64_t>(&id);
    return number != nullptr ? fmt::format("{}", *number) : quoted(std::get<std::string>(id));
}

}  // namespace ration::program
