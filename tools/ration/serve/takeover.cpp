// SPDX-License-Identifier: BSL-1.0
#include "serve/takeover.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <ration/process/child.hpp>

#include "run/private_folder.hpp"
#include "serve/peer.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr useconds_t interval = 50'000;
constexpr int intervals_of_replace = 600;
/// The worker of a killed service ends a moment after it, and holds its lock until then.
constexpr int intervals_of_start = 40;

[[nodiscard]] error cannot_end(service_folder const& folder) {
    return {.code = errc::io,
            .operation = "end the service at",
            .subject = std::string_view(folder.path),
            .remedy = "end it yourself: its jobs run on"};
}

/// A connection to the service; empty if none listens. Errors: it does not accept connections.
[[nodiscard]] result<process::descriptor> connect_to(service_folder const& folder) {
    auto const path = folder.socket();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return cannot_end(folder);
    path.copy(address.sun_path, path.size());
    process::descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval const patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0) return socket;
    return errno == ENOENT || errno == ECONNREFUSED ? process::descriptor()
                                                    : result<process::descriptor>(cannot_end(folder));
}

[[nodiscard]] bool is_connected(process::descriptor const& socket) noexcept {
    pollfd end{.fd = socket.get(), .events = 0, .revents = 0};
    return ::poll(&end, 1, 0) == 0;
}

/// Sends SIGTERM to the process that listens at the socket, which is as sudden as SIGKILL. A service that is not there
/// has ended already.
[[nodiscard]] result<void> end_service(service_folder const& folder) {
    auto const socket = connect_to(folder);
    if (!socket) return socket.failure();
    if (!*socket) return {};
    auto const peer = peer_of(socket->get());
    auto const seen = peer ? process::read_process(peer->pid) : std::nullopt;
    auto held = seen ? process::attach(seen->pid, seen->start_time) : result<process::child>(cannot_end(folder));
    // While the connection is open, the number belongs to the listener, so that the process held is the listener.
    if (!is_connected(*socket)) return {};
    if (!held || !held->signal(SIGTERM)) return cannot_end(folder);
    return {};
}

}  // namespace

result<process::descriptor> open_state(service_folder const& folder, bool replace) {
    std::error_code failure;
    auto const above = fs::path(folder.path).parent_path().string();
    fs::create_directories(above, failure);
    if (failure) return process::path_error("make folder", above, failure.value(), "name another one with --state");
    auto const parent = open_trusted_folder(above);
    if (!parent) return parent.failure();
    // Other users pass through the folders of a service of root, and cannot list them
    mode_t const passage = folder.of_root ? 0711 : 0700;
    auto state = make_private_folder(*parent, fs::path(folder.path).filename(), folder.path, passage);
    if (!state) return state;
    if (folder.of_root)
        if (auto made = make_private_folder(*state, "users", folder.users(), passage); !made) return made;
    for (auto const* const name : {"jobs", "ends"})
        if (auto made = make_private_folder(*state, name, folder.path + '/' + name); !made) return made;
    auto locked = open_folder(folder.path);
    if (!locked || try_lock(*locked)) return locked;
    auto const ended = replace ? end_service(folder) : result<void>();
    if (!ended) return ended.failure();
    for (int i = 0; i < (replace ? intervals_of_replace : intervals_of_start); ++i) {
        if (try_lock(*locked)) return locked;
        ::usleep(interval);
    }
    return error{.code = errc::busy,
                 .operation = "lock the state folder",
                 .subject = std::string_view(folder.path),
                 .remedy =
                     "another service has it: use that one, replace it by --replace, or name another folder by "
                     "--state"};
}

}  // namespace ration::program
