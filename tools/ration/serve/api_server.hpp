// SPDX-License-Identifier: BSL-1.0
/// The sockets of the service: requests are answered between two turns of a loop that must not be held up. The answers
/// to all changes of a turn leave together, after one commit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/units.hpp>

#include "metrics/endpoint.hpp"
#include "run/user_turns.hpp"
#include "serve/access.hpp"
#include "serve/api.hpp"
#include "serve/event_streams.hpp"
#include "serve/fair_share.hpp"
#include "serve/http.hpp"

namespace ration::program {

using api_handler = std::function<api_reply(api_request const&)>;

/// A socket at which clients arrive.
struct entrance {
    listening_socket listener;
    access_rules rules;
    std::optional<std::int64_t> uid;  ///< of all its clients; none: the kernel names the user of each
};

/// No call waits. A client has `patience` for everything. Once an entrance has `most_clients`, the user with the most
/// connections loses the oldest idle one to the next client, unless that client's user would have as many. The user of
/// the service and administrators never give way; if they hold all places, the next clients wait outside.
class api_server {
    struct client {
        std::size_t through;  // the entrance
        process::descriptor socket;
        std::int64_t uid = -1;
        bool is_admin = false;
        place_holder holder;
        nanoseconds deadline;
        std::string text{};  // the request, then the answer
        std::size_t sent = 0;
        bool admitted = false, answered = false, holds = false, gone = false;
        bool waits = false;   // its whole request is here, and cannot be performed now
        bool settled = true;  // no: its answer waits for the commit of its changes
    };
    std::vector<entrance> entrances_;
    std::optional<gid_t> admins_;
    std::vector<client> clients_;
    std::vector<event_client> event_clients_;
    nanoseconds restored_at_{};
    user_turns turns_;
    bool behind_ = false;  // requests were left for the next turn

public:
    static constexpr std::size_t most_clients = 64, most_of_other_user = 16;
    /// Connections that one call accepts, so that a flood of them delays no request for long.
    static constexpr int most_accepted = 256;
    static constexpr nanoseconds patience = seconds(10), longest_wait = seconds(25);

    /// `admins`: the group whose members control all jobs, as root does.
    explicit api_server(std::vector<entrance> entrances, std::optional<gid_t> admins = std::nullopt)
        : entrances_(std::move(entrances)), admins_(admins) {}

    /// Adds what is worth waking up for. Returns when to wake up at the latest, on CLOCK_MONOTONIC.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const;
    /// Reads what has come, and answers whole requests by `answer`: all of the user of the service and of
    /// administrators, and those of others in turns of the users (`user_turns`). The answers wait for `send`, and those
    /// to requests that may change something for `settle` before. Such a request waits for a later call while
    /// `may_change` returns false, at most `longest_wait`.
    void receive(nanoseconds now, api_handler const& answer, std::function<bool()> const& may_change);
    /// The clients that asked for events since the last call. They are none of this object's any more.
    [[nodiscard]] std::vector<event_client> take_event_clients() { return std::exchange(event_clients_, {}); }
    /// The changes of all requests that were answered are durable, or lost. `failure`: then sent instead of the answers
    /// that do not hold without their changes; null: they are durable.
    void settle(nanoseconds now, api_reply const* failure);
    /// Sends the answers.
    void send(nanoseconds now);

private:
    void restore_entrances(nanoseconds now);
    [[nodiscard]] bool is_full(std::size_t through) const noexcept;
    [[nodiscard]] bool may_accept(std::size_t through) const noexcept;
    [[nodiscard]] bool make_room(std::size_t through, place_holder next);
    void accept_some(std::size_t through, nanoseconds now);
    void add_client(std::size_t through, process::descriptor socket, nanoseconds now);
    static void read_from(client& c);
    [[nodiscard]] std::optional<http_reply> refusal(client& c) const;
    [[nodiscard]] bool hand_over(client& c);
    [[nodiscard]] bool has_request(client& c);
    void perform(client& c, nanoseconds now, api_handler const& answer, std::function<bool()> const& may_change) const;
    static void postpone(client& c, nanoseconds now);
    static void give_up(client& c);
    [[nodiscard]] std::string reply_to(client& c, message_state state, api_handler const& answer) const;
    static void write_to(client& c);
};

}  // namespace ration::program
