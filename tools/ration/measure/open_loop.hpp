// SPDX-License-Identifier: BSL-1.0
/// Requests at planned times over a Unix socket, regardless of the answers: an open loop. A client that waits for an
/// answer before it sends hides the queue of a slow server.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

#include "measure/load_ramp.hpp"

namespace ration::program {

struct pass_plan {
    double rate = 1;                  ///< requests per second; their times are random within the plan
    nanoseconds length = seconds(5);  ///< of the plan, which has at least 20 requests
    std::uint64_t seed = 1;
    double limit = 1;  ///< seconds; a pass ends early once more than 5 % of its requests have missed it
};

/// A connection to a server. A request is a line with its number, and so is its answer; answers come in any order.
/// Failures are sentences on the server.
class open_loop {
    process::descriptor socket_;
    std::atomic<bool> const& cancelled_;
    std::string unsent_{}, received_{};
    std::uint64_t first_ = 0;                       // number of the first request of this pass
    std::vector<nanoseconds> planned_{};            // by request of this pass, on CLOCK_MONOTONIC
    std::vector<double> lateness_{}, latencies_{};  // seconds; of the requests sent, and of the answers
    std::vector<bool> answered_{};                  // by request sent
    nanoseconds last_answer_{};
    double limit_ = 1;
    std::size_t missed_ = 0;  // answers beyond the limit

public:
    /// `cancelled` outlives it, and ends each call early.
    open_loop(process::descriptor socket, std::atomic<bool> const& cancelled) noexcept
        : socket_(std::move(socket)), cancelled_(cancelled) {}

    /// Waits until a server listens at `path`, at most until `deadline`. Failures: none listens, or the path is longer
    /// than that of a socket.
    [[nodiscard]] static result<open_loop, std::string> connect(std::string const& path, nanoseconds deadline,
                                                                std::atomic<bool> const& cancelled);

    /// Sends the requests of the plan, and waits for all answers, at most 30 s. Failures: the server closes the
    /// connection, or sends a line that answers no request.
    [[nodiscard]] result<load_pass, std::string> run(pass_plan const& plan);

private:
    void make_plan(pass_plan const& plan);
    void queue_due_requests(nanoseconds now);
    /// Sends and receives until a request is due or something has arrived, at most until `until`.
    [[nodiscard]] result<void, std::string> exchange(nanoseconds until);
    [[nodiscard]] result<void, std::string> receive();
    [[nodiscard]] result<void, std::string> take_answer(std::string_view line, nanoseconds now);
};

}  // namespace ration::program
