// SPDX-License-Identifier: BSL-1.0
/// The process at the other end of a Unix socket, and its groups.
#pragma once

#include <algorithm>
#include <optional>
#include <sys/socket.h>
#include <vector>

namespace ration::program {

/// The credentials at connect(2), or at listen(2) for the end that connected, by the kernel (unix(7)); none if it does
/// not report them.
[[nodiscard]] inline std::optional<ucred> peer_of(int socket) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? std::optional(peer) : std::nullopt;
}

/// Whether the process at the other end was in this group at connect(2).
[[nodiscard]] inline bool is_peer_in(int socket, ucred const& peer, gid_t group) {
    socklen_t size = 0;
    static_cast<void>(::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size));  // returns the size
    std::vector<gid_t> groups(size / sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) groups.clear();
    return peer.gid == group || std::ranges::find(groups, group) != groups.end();
}

}  // namespace ration::program
