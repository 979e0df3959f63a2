// SPDX-License-Identifier: BSL-1.0
/// The process at the other end of a Unix socket.
#pragma once

#include <optional>
#include <sys/socket.h>

namespace ration::program {

/// The credentials at connect(2), or at listen(2) for the end that connected, by the kernel (unix(7)); none if it does
/// not report them.
[[nodiscard]] inline std::optional<ucred> peer_of(int socket) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? std::optional(peer) : std::nullopt;
}

}  // namespace ration::program
