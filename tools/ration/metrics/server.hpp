// SPDX-License-Identifier: BSL-1.0
/// Accepts requests for metrics between two turns of a loop that must not be held up, and answers by `responder`.
/// Neither cpp-httplib nor prometheus-cpp's exposer listens here. Both serve from threads, which would race with the
/// loop's state and with the launch of jobs, and version 0.11 of the first limits neither open connections nor the time
/// of a request.
#pragma once

#include <poll.h>
#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/units.hpp>

#include "endpoint.hpp"
#include "responder.hpp"

namespace ration::program {

/// For any behaviour of clients, a call of `serve` makes a bounded number of system calls, none of which waits, and
/// nothing they say wakes the loop up more often than once every `rest`. A client has `patience` for everything; where
/// `most_clients` are there, the oldest makes room for the next.
class metrics_server {
    enum class phase : unsigned char { reading, answering, leaving };
    struct client {
        process::descriptor socket;
        nanoseconds deadline;
        phase now = phase::reading;
        std::string text{};  // the request, then the answer
        std::size_t sent = 0;
        bool moved = false;  // in this call: it sent or received something
    };

    listening_socket listener_;
    responder responder_;
    std::vector<client> clients_;
    nanoseconds rest_until_{};

public:
    static constexpr std::size_t most_clients = 16;
    static constexpr nanoseconds rest = milliseconds(10), patience = seconds(10);

    explicit metrics_server(listening_socket listener) : listener_(std::move(listener)) {
        clients_.reserve(most_clients);
    }

    /// Adds the descriptors to wait for, and returns the latest time of the next call. Times are on CLOCK_MONOTONIC.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds, nanoseconds now) const;
    void serve(nanoseconds now, responder::pages const& page);

private:
    [[nodiscard]] bool accept_some(nanoseconds now);
    // These say whether the client stays.
    [[nodiscard]] bool step(client& c, responder::pages const& page);
    [[nodiscard]] bool read_from(client& c, responder::pages const& page);
    [[nodiscard]] static bool write_to(client& c);
};

}  // namespace ration::program
