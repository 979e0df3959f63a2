// SPDX-License-Identifier: BSL-1.0
/// Decides by the head of a request whether the service answers it: a body is read only after that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ration/result.hpp>

#include "metrics/endpoint.hpp"
#include "serve/http.hpp"
#include "serve/request_head.hpp"

namespace ration::program {

inline constexpr std::size_t shortest_token = 32, longest_token = 512;

/// Reads the secret of clients over TCP. The file belongs to this user, has mode 0600, and holds at least
/// `shortest_token` visible characters of ASCII; line ends behind them do not count. Errors: `denied` (owner or mode),
/// `invalid_value`, those of `process::open_input`.
[[nodiscard]] result<std::string> read_token(std::string const& path);

/// "127.0.0.1:PORT" or "[::1]:PORT"; the diagnostic does not name the option.
[[nodiscard]] result<loopback_endpoint, diagnostic> parse_listen_address(std::string_view word);

/// Whether `given` is `secret`, in a time that does not depend on where they differ.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret) noexcept;

/// The rules of one socket. They refuse requests of pages of other sites, which reach a loopback address through the
/// user's browser, also where the name of the site leads there (DNS rebinding).
class access_rules {
    std::string token_;  // empty: a Unix socket, whose clients the kernel names

public:
    /// Of the Unix socket. A browser reaches it only through a forwarded port, which pages of all sites could use.
    access_rules() = default;
    /// Of a loopback address.
    explicit access_rules(std::string token) : token_(std::move(token)) {}

    /// Whether the files of the page are there. They need no token.
    [[nodiscard]] bool serves_page() const noexcept { return !token_.empty(); }
    /// The refusal of a request; none: it is allowed. Pre: `head` was parsed.
    [[nodiscard]] std::optional<http_reply> refusal(request_head const& head) const;

private:
    [[nodiscard]] std::optional<http_reply> refusal_over_tcp(request_head const& head) const;
};

}  // namespace ration::program
