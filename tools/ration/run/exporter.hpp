// SPDX-License-Identifier: BSL-1.0
/// `ration run --metrics`: counts events and serves the figures to Prometheus.
#pragma once

#include <memory>
#include <poll.h>
#include <string>
#include <vector>

#include "metrics/server.hpp"
#include "run/run_metrics.hpp"

namespace ration::program {

class exporter {
    metrics_server server_;
    run_metrics metrics_;
    struct kept {
        std::shared_ptr<std::string const> page;
        nanoseconds made{};
    };
    kept pages_[2];  // OpenMetrics is the second

public:
    /// However many ask, a page is made at most this often: with 512 jobs it takes 5 to 9 ms.
    static constexpr nanoseconds page_lifetime = milliseconds(500);

    /// `where` is a word that `parse_endpoint` takes. Errors: as of `listening_socket::open`.
    [[nodiscard]] static result<std::unique_ptr<exporter>> open(std::string const& where);

    void emit(event const& e) { metrics_.emit(e); }
    /// Adds the descriptors to wait for, and returns the latest time of the next call, on CLOCK_MONOTONIC.
    [[nodiscard]] nanoseconds join(std::vector<pollfd>& fds) const;
    /// Never waits.
    void serve(run_state const& now);

private:
    explicit exporter(listening_socket listener) : server_(std::move(listener)) {}
};

}  // namespace ration::program
