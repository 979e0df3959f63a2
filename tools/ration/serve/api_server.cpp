// SPDX-License-Identifier: BSL-1.0
#include "serve/api_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// The user at the other end, by the kernel; -1 if it does not tell.
[[nodiscard]] std::int64_t user_of(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.uid : -1;
}

}  // namespace

nanoseconds api_server::join(std::vector<pollfd>& fds) const {
    nanoseconds until{INT64_MAX};
    if (clients_.size() < most_clients) fds.push_back({listener_.fd(), POLLIN, 0});
    for (auto const& c : clients_) {
        fds.push_back({c.socket.get(), static_cast<short>(c.answered ? POLLOUT : POLLIN), 0});
        until = std::min(until, c.deadline);
    }
    return until;
}

void api_server::accept_some(nanoseconds now) {
    while (clients_.size() < most_clients) {
        process::descriptor socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) return;
        auto const uid = user_of(socket.get());
        if (uid >= 0) clients_.push_back({.socket = std::move(socket), .uid = uid, .deadline = now + patience});
    }
}

void api_server::read_from(client& c) {
    std::array<char, 65536> some;
    while (c.text.size() <= longest_head + longest_body) {
        auto const count = ::recv(c.socket.get(), some.data(), some.size(), 0);
        if (count == 0) c.gone = true;
        if (count < 0) c.gone = !would_wait();
        if (count <= 0) return;
        c.text.append(some.data(), static_cast<std::size_t>(count));
    }
}

void api_server::receive(nanoseconds now, std::function<api_reply(api_request const&)> const& answer) {
    accept_some(now);
    for (auto& c : clients_) {
        if (c.answered || c.gone) continue;
        read_from(c);
        auto const state = state_of_request(c.text);
        if (state == message_state::partial) continue;
        c.gone = false;  // a client may close its half of the connection
        c.text = state == message_state::complete
                     ? answer_http(c.text,
                                   [&](auto const& method, auto const& path, auto const& body) {
                                       auto reply = answer({method, path, body, c.uid});
                                       return http_reply{reply.status, std::move(reply.json)};
                                   })
                     : refusal_http({413, error_json("the request is too long: send at most 4 MiB")});
        c.answered = true;
    }
}

void api_server::write_to(client& c) {
    while (c.sent < c.text.size()) {
        auto const count = ::send(c.socket.get(), c.text.data() + c.sent, c.text.size() - c.sent, MSG_NOSIGNAL);
        if (count < 0) {
            c.gone = !would_wait();
            return;
        }
        c.sent += static_cast<std::size_t>(count);
    }
    c.gone = true;
}

void api_server::send(nanoseconds now, api_reply const* failure) {
    for (auto& c : clients_) {
        if (c.answered && c.sent == 0 && failure != nullptr) c.text = refusal_http({failure->status, failure->json});
        if (c.answered) write_to(c);
    }
    std::erase_if(clients_, [&](client const& c) { return c.gone || now >= c.deadline; });
}

}  // namespace ration::program
