// SPDX-License-Identifier: BSL-1.0
#include "serve/event_streams.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "serve/api.hpp"
#include "serve/fair_share.hpp"
#include "serve/http.hpp"

namespace ration::program {
namespace {

constexpr char const* head_of_events =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 2000\n\n";

/// JSON has no line ends outside of its strings, and escapes those within.
[[nodiscard]] std::string event_text(std::string_view name, std::string_view json, std::optional<std::int64_t> id) {
    return fmt::format("{}event: {}\ndata: {}\n\n", id ? fmt::format("id: {}\n", *id) : "", name, json);
}

[[nodiscard]] std::string stage_text(logged_stage const& one) {
    std::string text;
    json_writer json(text);
    json.object([&] {
        json.member("job", one.job);
        json.member("label", label_of(one.name, one.job));
        write_stage(json, one.what);
        json.member("exit_code", one.end.exit_code);
        json.member("signal", one.end.signal);
    });
    return event_text("stage", text, one.id);
}

/// Whether the other end is open. It sends nothing after its request.
[[nodiscard]] bool is_open(int socket) {
    std::array<char, 1> some{};
    auto const count = ::recv(socket, some.data(), some.size(), MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

/// False: the next client of this user has to go.
bool event_streams::make_room(std::int64_t uid) {
    auto const holder_of = [](std::int64_t user) {
        return user == 0 || user == ::geteuid() ? std::nullopt : place_holder(user);
    };
    std::vector<place_holder> places;
    for (auto const& one : subscribers_) places.push_back(holder_of(one.at.uid));
    auto const next = holder_of(uid);
    if (next && std::ranges::count(places, next) >= std::ptrdiff_t{most_of_other_user}) return false;
    if (places.size() < most_clients) return true;
    auto const yields = user_to_yield(places, next);
    if (yields) subscribers_.erase(subscribers_.begin() + (std::ranges::find(places, yields) - places.begin()));
    return yields.has_value();
}

void event_streams::add(event_client client, nanoseconds now) {
    if (!make_room(client.uid)) {
        auto const refusal = refusal_http({503, error_json("too many clients get events: close one of them")});
        static_cast<void>(::send(client.socket.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL));
        return;
    }
    if (auto const newest = log_.newest()) newest_ = *newest;
    auto const last = client.last.value_or(newest_);
    subscriber one{.at = std::move(client), .position = std::min(last, newest_), .text = head_of_events, .moved = now};
    // A client that has seen later stages used a list that was replaced by its backup.
    one.text += event_text(last > newest_ ? "reset" : "open", "{}", one.position);
    subscribers_.push_back(std::move(one));
}

std::size_t event_streams::held() const noexcept {
    std::size_t bytes = 0;
    for (auto const& one : subscribers_) bytes += one.text.size() - one.sent;
    return bytes;
}

nanoseconds event_streams::join(std::vector<pollfd>& fds) const {
    if (subscribers_.empty()) return nanoseconds{INT64_MAX};
    for (auto const& one : subscribers_) {
        bool const more = !one.text.empty() || one.position < newest_;
        fds.push_back({one.at.socket.get(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0});
    }
    return limits_at_ + between_limits;
}

result<void> event_streams::read_stages(subscriber& to) {
    auto const stages = log_.read(to.position, to.at.uid, batch);
    if (!stages) return stages.failure();
    for (auto const& one : *stages) to.text += stage_text(one);
    to.position = std::ssize(*stages) < batch ? newest_ : stages->back().id;
    return {};
}

void event_streams::add_limits(nanoseconds now, std::function<std::string(std::int64_t uid)> const& limits) {
    if (now - limits_at_ < between_limits) return;
    limits_at_ = now;
    for (auto& one : subscribers_) {
        if (!one.ready) continue;
        auto const text = limits(one.at.uid);
        auto const before = std::exchange(one.limits, std::hash<std::string>()(text));
        if (one.limits != before) one.text += event_text("limits", text, std::nullopt);
    }
}

void event_streams::write_to(subscriber& to, nanoseconds now) {
    while (to.sent < to.text.size()) {
        auto const count = ::send(to.at.socket.get(), to.text.data() + to.sent, to.text.size() - to.sent, MSG_NOSIGNAL);
        if (count < 0) {
            to.gone = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
            return;
        }
        to.sent += static_cast<std::size_t>(count);
        to.moved = now;
    }
    to.text.clear();
    to.sent = 0;
}

result<void> event_streams::read_new_stages() {
    auto const changed = log_.take_changed();
    if (!changed) return changed.failure();
    if (*changed) {
        auto const newest = log_.newest();
        if (!newest) return newest.failure();
        newest_ = *newest;
    }
    for (auto& one : subscribers_) {
        if (!one.ready || one.position >= newest_) continue;
        if (auto read = read_stages(one); !read) return read;
    }
    return {};
}

result<void> event_streams::send(nanoseconds now, std::function<std::string(std::int64_t uid)> const& limits) {
    if (subscribers_.empty()) return {};
    for (auto& one : subscribers_) {
        write_to(one, now);
        one.ready = one.text.empty();
    }
    if (auto read = read_new_stages(); !read) {
        subscribers_.clear();
        return read;
    }
    add_limits(now, limits);
    for (auto& one : subscribers_) {
        if (one.text.empty() && now - one.moved >= silence) one.text = ":\n\n";
        write_to(one, now);
        one.gone |= !is_open(one.at.socket.get()) || now - one.moved >= patience;
    }
    std::erase_if(subscribers_, [](subscriber const& one) { return one.gone; });
    return {};
}

}  // namespace ration::program
