// SPDX-License-Identifier: BSL-1.0
/// The head of an HTTP request, as far as it decides whether the service answers at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ration::program {

/// Views into the text of the request.
struct request_head {
    std::string_view method, target;
    std::vector<std::pair<std::string_view, std::string_view>> fields;  ///< names as they were sent
    std::size_t length = 0;                                             ///< with the empty line

    /// The value of a field. `name`: in lower case. None if it is missing; of several the first one.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    /// How often the field was sent.
    [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
};

/// None: the text has no whole head, or it is not one of HTTP/1. O(length of the head).
[[nodiscard]] std::optional<request_head> parse_head(std::string_view received);

}  // namespace ration::program
