// SPDX-License-Identifier: BSL-1.0
/// Server-sent events of the service (https://html.spec.whatwg.org/multipage/server-sent-events.html).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/units.hpp>

#include "serve/stage_log.hpp"

namespace ration::program {

inline constexpr std::string_view events_path = "/v1/events";

/// A client that asked for events.
struct event_client {
    process::descriptor socket;        ///< non-blocking
    std::int64_t uid = -1;             ///< the user whose jobs it gets; 0: all jobs
    std::optional<std::int64_t> last;  ///< of Last-Event-ID
};

/// Sends stages of jobs, and at most once a second the limits of the running ones. The stages come from the disk when a
/// client has taken the ones before, so that a slow client costs one batch of memory and misses nothing. No call waits.
class event_streams {
    struct subscriber {
        event_client at;
        std::int64_t position = 0;  // the id of the last stage in `text` or sent
        std::string text{};         // on the way
        std::size_t sent = 0;
        nanoseconds moved;       // when it took bytes last
        std::size_t limits = 0;  // hash of those that were sent last
        bool ready = false;      // it has taken everything before this turn
        bool gone = false;
    };
    stage_log log_;
    std::vector<subscriber> subscribers_;
    std::int64_t newest_ = 0;
    nanoseconds limits_at_{};

public:
    static constexpr std::size_t most_clients = 32, most_of_other_user = 4;
    static constexpr std::int64_t batch = 64;
    /// A comment is sent after `silence`, and a client that takes nothing for `patience` is closed.
    static constexpr nanoseconds silence = seconds(15), patience = seconds(30), between_limits = seconds(1);

    explicit event_streams(stage_log log) noexcept : log_(std::move(log)) {}

    /// Adds a client, which gets stages from now on or after `last`. One too many of a user who is not the service's
    /// gets status 503 instead. Once all places are taken, the user with the most loses the oldest one to the next
    /// client, unless that client's user would have as many; root and the user of the service lose none.
    void add(event_client client, nanoseconds now);
    /// Adds the descriptors to wait for. Returns when to wake up at the latest, on CLOCK_MONOTONIC.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const;
    /// Sends as much as the clients take. `limits`: those that a user sees, as a JSON object. Errors: those of the
    /// disk, which close all clients; they come back.
    [[nodiscard]] result<void> send(nanoseconds now, std::function<std::string(std::int64_t uid)> const& limits);
    [[nodiscard]] std::size_t clients() const noexcept { return subscribers_.size(); }
    /// Bytes that wait for clients. O(clients).
    [[nodiscard]] std::size_t held() const noexcept;

private:
    [[nodiscard]] bool make_room(std::int64_t uid);
    [[nodiscard]] result<void> read_new_stages();
    [[nodiscard]] result<void> read_stages(subscriber& to);
    void add_limits(nanoseconds now, std::function<std::string(std::int64_t uid)> const& limits);
    static void write_to(subscriber& to, nanoseconds now);
};

}  // namespace ration::program
