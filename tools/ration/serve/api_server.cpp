// SPDX-License-Identifier: BSL-1.0
#include "serve/api_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "serve/page_files.hpp"
#include "serve/peer.hpp"

namespace ration::program {
namespace {

/// The holder of a connection over TCP until its request has the token: the oldest one gives way to the next.
constexpr std::int64_t unknown_user = -1;

[[nodiscard]] bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

bool api_server::is_full(std::size_t through) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(clients_, through, &client::through)) >= most_clients;
}

/// Whether there is a place, or a client that may give way.
bool api_server::may_accept(std::size_t through) const noexcept {
    return !is_full(through) ||
           std::ranges::any_of(clients_, [&](client const& c) { return c.through == through && c.holder.has_value(); });
}

/// False: the next client has to go.
bool api_server::make_room(std::size_t through, place_holder next) {
    if (!is_full(through)) return true;
    std::vector<place_holder> places;
    for (auto const& c : clients_)
        if (c.through == through) places.push_back(c.holder);
    auto const yields = next == unknown_user ? next : user_to_yield(places, next);
    if (!yields) return false;
    auto const is_theirs = [&](client const& c) { return c.through == through && c.holder == yields; };
    auto out = std::ranges::find_if(clients_, [&](client const& c) { return is_theirs(c) && !c.answered; });
    if (out == clients_.end()) out = std::ranges::find_if(clients_, is_theirs);
    if (out == clients_.end()) return false;
    clients_.erase(out);  // in the order of their arrival
    return true;
}

nanoseconds api_server::join(std::vector<pollfd>& fds) const {
    nanoseconds until{behind_ ? 0 : INT64_MAX};
    for (std::size_t i = 0; i < entrances_.size(); ++i)
        if (may_accept(i)) fds.push_back({entrances_[i].listener.fd(), POLLIN, 0});
    for (auto const& c : clients_) {
        if (!c.settled) continue;
        if (!c.waits) fds.push_back({c.socket.get(), static_cast<short>(c.answered ? POLLOUT : POLLIN), 0});
        until = std::min(until, c.deadline);
    }
    return until;
}

/// A program may have removed the file of the socket, as one that cleans the folder.
void api_server::restore_entrances(nanoseconds now) {
    if (now - restored_at_ < seconds(1)) return;
    restored_at_ = now;
    for (auto& one : entrances_) {
        auto const there = one.listener.restore();
        if (there) continue;
        std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(there.failure())).c_str());
        restored_at_ = now + seconds(60);  // one warning a minute
    }
}

void api_server::accept_some(std::size_t through, nanoseconds now) {
    for (int i = 0; i < most_accepted && may_accept(through); ++i) {
        process::descriptor socket(
            ::accept4(entrances_[through].listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) return;
        add_client(through, std::move(socket), now);
    }
}

void api_server::add_client(std::size_t through, process::descriptor socket, nanoseconds now) {
    auto uid = entrances_[through].uid;
    bool is_admin = uid == 0;
    if (auto const peer = uid ? std::nullopt : peer_of(socket.get())) {
        uid = peer->uid;
        is_admin = uid == 0 || (admins_ && is_peer_in(socket.get(), *peer, *admins_));
    }
    if (!uid) return;
    auto const holder = entrances_[through].uid          ? place_holder(unknown_user)
                        : is_admin || uid == ::geteuid() ? std::nullopt
                                                         : place_holder(*uid);
    auto const of_user = std::ranges::count_if(
        clients_, [&](client const& c) { return c.through == through && holder && c.holder == holder; });
    if (holder != unknown_user && of_user >= std::ptrdiff_t{most_of_other_user}) return;
    if (!make_room(through, holder)) return;
    clients_.push_back({.through = through,
                        .socket = std::move(socket),
                        .uid = *uid,
                        .is_admin = is_admin,
                        .holder = holder,
                        .deadline = now + patience});
}

/// Reads no more than a head before it was admitted.
void api_server::read_from(client& c) {
    std::array<char, 65536> some;
    auto const most = 1 + longest_head + (c.admitted ? longest_body : 0);
    while (c.text.size() < most) {
        auto const count = ::recv(c.socket.get(), some.data(), std::min(some.size(), most - c.text.size()), 0);
        if (count == 0) c.gone = true;
        if (count < 0) c.gone = !would_wait();
        if (count <= 0) return;
        c.text.append(some.data(), static_cast<std::size_t>(count));
    }
}

/// The refusal of a request by its head, which may come before its body. Each head is judged once.
std::optional<http_reply> api_server::refusal(client& c) const {
    if (c.admitted) return std::nullopt;
    auto const head = parse_head(c.text);
    if (!head) return std::nullopt;
    c.admitted = true;
    auto refused = entrances_[c.through].rules.refusal(*head);
    if (c.holder == unknown_user && !refused) c.holder.reset();
    return refused;
}

void api_server::receive(nanoseconds now, api_handler const& answer, std::function<bool()> const& may_change) {
    restore_entrances(now);
    for (std::size_t i = 0; i < entrances_.size(); ++i) accept_some(i, now);
    std::vector<user_turns::item> requests;
    for (std::size_t at = 0; at < clients_.size(); ++at) {
        auto& c = clients_[at];
        if (c.answered || c.gone || !has_request(c)) continue;
        if (c.holder)
            requests.push_back({static_cast<uid_t>(*c.holder), at});
        else
            perform(c, now, answer, may_change);
    }
    turns_.divide(requests, now, [&](std::size_t at) {
        perform(clients_[at], now, answer, may_change);
        return false;
    });
    behind_ = std::ranges::any_of(requests, [&](user_turns::item const& one) {
        return !clients_[one.slot].answered && !clients_[one.slot].waits;
    });
}

/// Reads what has come. Whether that is a whole request, which its head does not refuse.
bool api_server::has_request(client& c) {
    if (!c.waits) read_from(c);
    auto const refused = refusal(c);
    if (refused) {
        c.text = refusal_http(*refused);
        c.answered = true;
    } else if (c.admitted && !c.waits) {
        read_from(c);
    }
    if (!refused && state_of_request(c.text) == message_state::partial) return false;
    c.gone = false;  // a client may close its half of the connection
    return !refused && !hand_over(c);
}

void api_server::perform(client& c, nanoseconds now, api_handler const& answer,
                         std::function<bool()> const& may_change) const {
    auto const state = state_of_request(c.text);
    bool const reads = state == message_state::too_long || c.text.starts_with("GET ");
    if (!reads && !may_change()) return postpone(c, now);
    c.waits = false;
    c.settled = reads;
    c.text = reply_to(c, state, answer);
    c.answered = true;
}

void api_server::postpone(client& c, nanoseconds now) {
    if (!std::exchange(c.waits, true)) c.deadline = now + longest_wait;
}

/// Of a request that has waited in vain.
void api_server::give_up(client& c) {
    c.text = refusal_http(
        {503,
         error_json(
             "the list of jobs cannot be written: end other programs that write to it or keep its disk busy, and repeat this")});
    write_to(c);
}

/// Whether the client asks for events; then it has no socket here any more.
bool api_server::hand_over(client& c) {
    auto const head = parse_head(c.text);
    if (!head || head->method != "GET" || head->target != events_path) return false;
    event_client next{.socket = std::move(c.socket), .uid = c.is_admin ? 0 : c.uid, .last = {}};
    auto const last = head->find("last-event-id").value_or("");
    std::int64_t id = 0;
    auto const [end, fault] = std::from_chars(last.data(), last.data() + last.size(), id);
    if (fault == std::errc() && end == last.data() + last.size() && id >= 0) next.last = id;
    event_clients_.push_back(std::move(next));
    c.gone = true;
    return true;
}

/// The bytes of the answer to a message that was not refused by its head.
std::string api_server::reply_to(client& c, message_state state, api_handler const& answer) const {
    if (state == message_state::too_long)
        return refusal_http({413, error_json(c.admitted ? "the body is too long: send at most 1 MiB"
                                                        : "the head is too long: send at most 8 KiB")});
    if (!c.admitted)
        return refusal_http({400, error_json("the head is not one of HTTP/1: read docs/service-api.json")});
    auto const head = parse_head(c.text);
    auto const* const file = head && entrances_[c.through].rules.serves_page() ? page_file_of(*head) : nullptr;
    if (file != nullptr) return page_reply(*file);
    return answer_http(c.text, [&](auto const& method, auto const& path, auto const& body) {
        auto reply = answer({method, path, body, c.uid, c.is_admin});
        c.holds = reply.holds;
        return http_reply{reply.status, std::move(reply.json)};
    });
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

void api_server::settle(nanoseconds now, api_reply const* failure) {
    for (auto& c : clients_) {
        if (std::exchange(c.settled, true)) continue;
        if (failure != nullptr && !c.holds) c.text = refusal_http({failure->status, failure->json});
        c.deadline = now + patience;
    }
}

/// A client whose changes are on their way to the disk has no deadline.
void api_server::send(nanoseconds now) {
    for (auto& c : clients_) {
        if (c.answered && c.settled) write_to(c);
        if (c.waits && now >= c.deadline) give_up(c);
    }
    std::erase_if(clients_, [&](client const& c) { return c.gone || (c.settled && now >= c.deadline); });
}

}  // namespace ration::program
