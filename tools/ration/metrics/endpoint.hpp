// SPDX-License-Identifier: BSL-1.0
/// Where metrics may be asked for: a Unix socket, or a port that only this machine reaches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <variant>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>

namespace ration::program {

struct unix_endpoint {
    std::string path;
    mode_t mode = 0600;  ///< of the socket; 0666: any user who can reach it may connect
};

struct loopback_endpoint {
    std::string host;  ///< "127.0.0.1" (or another of 127/8) or "::1"
    std::uint16_t port = 0;
};

using endpoint = std::variant<unix_endpoint, loopback_endpoint>;

/// "unix:PATH", "127.0.0.1:PORT" or "[::1]:PORT". The diagnostic does not name the option.
/// Addresses that other machines reach are refused, and so are host names, whose meaning is in others' hands.
[[nodiscard]] result<endpoint, diagnostic> parse_endpoint(std::string_view word);

/// Whether the `Host` of a request names this machine by a name that no other site can have. A page of another site
/// otherwise reaches a listener through the user's browser, where the name of its site leads there (DNS rebinding). The
/// port may be another one, since ssh forwards ports. Clients of a Unix socket may send its path, which no browser
/// does.
[[nodiscard]] bool names_this_machine(std::string_view host);

/// The sentence for a request that does not.
inline constexpr std::string_view other_host_sentence = "the host is not this machine: ask for localhost or 127.0.0.1";

/// A listening socket that never blocks. The file of a Unix socket goes when its owner does, unless it is another's by
/// then.
class listening_socket {
    process::descriptor socket_;
    std::string path_;  // empty: no file
    mode_t mode_ = 0600;
    dev_t device_ = 0;
    ino_t inode_ = 0;

public:
    /// The file of a listener that is gone is taken away.
    /// Errors: `already_exists` (something else is there, or listens), `denied`, `not_found`, `io`.
    [[nodiscard]] static result<listening_socket> open(endpoint const& where);

    listening_socket(listening_socket&& other) noexcept = default;
    listening_socket& operator=(listening_socket&&) = delete;
    ~listening_socket();

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// Makes the file of a Unix socket again if it is gone. Clients that have arrived wait at the old one no longer.
    /// Errors: those of `open`.
    [[nodiscard]] result<void> restore();

private:
    listening_socket() = default;
    [[nodiscard]] result<void> listen_at(endpoint const& where);
    [[nodiscard]] result<void> bind_to(unix_endpoint const& where);
    [[nodiscard]] result<void> bind_to(loopback_endpoint const& where);
};

}  // namespace ration::program
