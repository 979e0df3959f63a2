// SPDX-License-Identifier: BSL-1.0
/// HTTP of the service's API. cpp-httplib parses and writes the messages; the sockets of the service are those of
/// `api_server`, whose loop never waits. The implementation includes httplib.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ration/result.hpp>

namespace ration::program {

/// The head with its empty line.
inline constexpr std::size_t longest_head = 8192, longest_body = std::size_t{1} << 20;

enum class message_state : unsigned char { partial, complete, too_long };

/// Whether `received` is a whole request: a head, and as many bytes as its Content-Length gives. O(length of the head).
[[nodiscard]] message_state state_of_request(std::string_view received);

struct http_reply {
    int status = 200;
    std::string json;
};

/// The bytes of the answer to a request. `handler` gets method, path with its query, and body; it is not called for a
/// message that is not an HTTP request.
[[nodiscard]] std::string answer_http(std::string_view request,
                                      std::function<http_reply(std::string const& method, std::string const& path,
                                                               std::string const& body)> const& handler);

/// The bytes of an answer without a request.
[[nodiscard]] std::string refusal_http(http_reply const& reply);

/// Sends a request to a Unix socket and waits at most 30 s for the answer. Errors: `not_found` if no service listens
/// there, `io`.
[[nodiscard]] result<http_reply> ask_http(std::string const& socket, std::string const& method, std::string const& path,
                                          std::string const& body);

}  // namespace ration::program
