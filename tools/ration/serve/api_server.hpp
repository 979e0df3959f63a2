// SPDX-License-Identifier: BSL-1.0
/// The Unix socket of the service: requests are answered between two turns of a loop that must not be held up. The
/// answers to all requests of a turn leave together, after one commit.
#pragma once

#include <functional>
#include <poll.h>
#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/units.hpp>

#include "metrics/endpoint.hpp"
#include "serve/api.hpp"
#include "serve/http.hpp"

namespace ration::program {

/// No call waits. A client has `patience` for everything; if `most_clients` are there, the next ones wait outside.
class api_server {
    struct client {
        process::descriptor socket;
        std::int64_t uid = -1;
        nanoseconds deadline;
        std::string text{};  // the request, then the answer
        std::size_t sent = 0;
        bool answered = false, gone = false;
    };
    listening_socket listener_;
    std::vector<client> clients_;

public:
    static constexpr std::size_t most_clients = 64;
    static constexpr nanoseconds patience = seconds(10);

    explicit api_server(listening_socket listener) : listener_(std::move(listener)) {}

    /// Adds what is worth waking up for. Returns when to wake up at the latest, on CLOCK_MONOTONIC.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const;
    /// Reads what has come, and answers each whole request by `answer`. The answers wait for `send`.
    void receive(nanoseconds now, std::function<api_reply(api_request const&)> const& answer);
    /// Sends the answers. `failure`: instead of those that `receive` made, since their changes are lost; may be null.
    void send(nanoseconds now, api_reply const* failure);

private:
    void accept_some(nanoseconds now);
    static void read_from(client& c);
    static void write_to(client& c);
};

}  // namespace ration::program
