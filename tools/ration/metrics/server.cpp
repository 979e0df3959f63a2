// SPDX-License-Identifier: BSL-1.0
#include "server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace ration::program {
namespace {

constexpr int most_accepted = 8;  // in one call

[[nodiscard]] bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

nanoseconds metrics_server::join(std::vector<pollfd>& fds, nanoseconds now) const {
    if (now < rest_until_) return rest_until_;
    nanoseconds until = nanoseconds{INT64_MAX};
    fds.push_back({listener_.fd(), POLLIN, 0});
    for (auto const& c : clients_) {
        fds.push_back({c.socket.get(), static_cast<short>(c.now == phase::answering ? POLLOUT : POLLIN), 0});
        until = std::min(until, c.deadline);
    }
    return until;
}

void metrics_server::serve(nanoseconds now, responder::pages const& page) {
    if (now < rest_until_) return;
    bool busy = accept_some(now);
    std::erase_if(clients_, [&](client& c) {
        c.moved = false;
        bool const stays = now < c.deadline && step(c, page);
        busy |= c.moved;
        return !stays;
    });
    if (busy) rest_until_ = now + rest;
}

bool metrics_server::accept_some(nanoseconds now) {
    int count = 0;
    for (; count < most_accepted; ++count) {
        process::descriptor socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) break;
        if (clients_.size() == most_clients) clients_.erase(clients_.begin());
        clients_.push_back({.socket = std::move(socket), .deadline = now + patience});
    }
    return count > 0;
}

bool metrics_server::step(client& c, responder::pages const& page) {
    if (c.now == phase::reading && !read_from(c, page)) return false;
    if (c.now == phase::answering && !write_to(c)) return false;
    if (c.now != phase::leaving) return true;
    // Unread input would make the kernel discard the answer when the socket is closed.
    std::array<char, longest_request> rest_of_request;
    auto const count = ::recv(c.socket.get(), rest_of_request.data(), rest_of_request.size(), 0);
    c.moved |= count > 0;
    return count > 0 || (count < 0 && would_wait());
}

bool metrics_server::read_from(client& c, responder::pages const& page) {
    std::array<char, longest_request> some;
    auto const count = ::recv(c.socket.get(), some.data(), longest_request - c.text.size(), 0);
    if (count <= 0) return count < 0 && would_wait();
    c.moved = true;
    c.text.append(some.data(), static_cast<std::size_t>(count));
    if (!has_complete_head(c.text) && c.text.size() < longest_request) return true;
    c.text = responder_.answer(c.text, page);
    c.now = phase::answering;
    return true;
}

bool metrics_server::write_to(client& c) {
    while (c.sent < c.text.size()) {
        auto const count = ::send(c.socket.get(), c.text.data() + c.sent, c.text.size() - c.sent, MSG_NOSIGNAL);
        if (count < 0) return would_wait();
        c.moved = true;
        c.sent += static_cast<std::size_t>(count);
    }
    ::shutdown(c.socket.get(), SHUT_WR);
    c.now = phase::leaving;
    return true;
}

}  // namespace ration::program
