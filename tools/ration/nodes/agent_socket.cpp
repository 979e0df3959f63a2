// SPDX-License-Identifier: BSL-1.0
#include "nodes/agent_socket.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

namespace ration::program {
namespace {

constexpr int most_waiting = 8;

/// None: the path is longer than a socket's can be.
[[nodiscard]] std::optional<sockaddr_un> address_of(std::string const& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof out.sun_path) return std::nullopt;
    path.copy(out.sun_path, path.size());
    return out;
}

[[nodiscard]] sockaddr const* plain(sockaddr_un const& address) noexcept {
    return reinterpret_cast<sockaddr const*>(&address);
}

/// Both directions of a connected socket.
[[nodiscard]] wire_channel channel_of(process::descriptor socket) {
    process::descriptor copy(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
    return {std::move(socket), std::move(copy)};
}

void pass(wire_channel& from, wire_channel& to) {
    from.fill();
    while (auto const line = from.next())
        if (!line->too_long) to.send(line->text);
    to.flush();
}

}  // namespace

result<agent_socket> agent_socket::open(std::string const& path) {
    constexpr char const* remedy = "set XDG_RUNTIME_DIR on the node to a folder with a shorter path";
    agent_socket out;
    auto const address = address_of(path);
    out.listener_ =
        process::above_standard(process::descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    if (!address) return process::system_error("open the socket of the agent", path, ENAMETOOLONG, remedy);
    bool const is_open = out.listener_ && ::bind(out.listener_.get(), plain(*address), sizeof *address) == 0 &&
                         ::listen(out.listener_.get(), most_waiting) == 0;
    if (!is_open) return process::system_error("open the socket of the agent", path, errno, remedy);
    return out;
}

std::optional<opened_conversation> agent_socket::accept(hello_order const& own) {
    if (!next_) {
        process::descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket) return std::nullopt;
        next_.emplace(channel_of(process::above_standard(std::move(socket))));
    }
    next_->fill();
    auto const line = next_->next();
    if (!line && !next_->at_end()) return std::nullopt;
    auto channel = std::move(*next_);
    next_.reset();
    auto read = line && !line->too_long && is_hello(line->text)
                    ? read_order(line->text)
                    : result<wire_message<node_order>, std::string>(std::string("no hello"));
    auto* const hello = read ? std::get_if<hello_order>(&read->body) : nullptr;
    if (hello == nullptr || hello->version != own.version || hello->run != own.run || hello->node != own.node)
        return std::nullopt;
    return opened_conversation{std::move(channel), read->head, std::move(*hello)};
}

std::optional<wire_channel> agent_socket::connect(std::string const& path) {
    auto const address = address_of(path);
    process::descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!address || !socket || ::connect(socket.get(), plain(*address), sizeof *address) != 0) return std::nullopt;
    return channel_of(std::move(socket));
}

void relay(wire_channel& controller, wire_channel& agent) {
    while (!controller.at_end() && !agent.at_end()) {
        std::array<pollfd, 4> fds{pollfd{controller.input(), POLLIN, 0}, pollfd{agent.input(), POLLIN, 0},
                                  pollfd{controller.has_unsent() ? controller.output() : -1, POLLOUT, 0},
                                  pollfd{agent.has_unsent() ? agent.output() : -1, POLLOUT, 0}};
        ::poll(fds.data(), fds.size(), -1);
        pass(controller, agent);
        pass(agent, controller);
    }
    controller.drain();
    agent.drain();
}

}  // namespace ration::program
