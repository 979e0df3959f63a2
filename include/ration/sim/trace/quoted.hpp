// SPDX-License-Identifier: BSL-1.0
/// Text of a trace inside a message.
#pragma once

#include <string>
#include <string_view>

namespace ration::sim::trace {

/// At most 40 bytes of `text` in single quotes; what is not printable ASCII becomes '?', since it ends up on terminals.
[[nodiscard]] inline std::string quoted(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string shown = "'";
    for (char const c : text.substr(0, most)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown += text.size() > most ? "...'" : "'";
}

}  // namespace ration::sim::trace
