// SPDX-License-Identifier: BSL-1.0
/// Answers HTTP requests for metrics. cpp-httplib parses the request and writes the answer, between two strings: the
/// sockets are those of `metrics_server`, whose loop never waits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ration::program {

/// A longer request line with its headers is refused.
inline constexpr std::size_t longest_request = 4096;

/// Whether `received` has a blank line, which ends the headers. Lines end with CR LF or with LF. O(length).
[[nodiscard]] bool has_complete_head(std::string_view received) noexcept;

class responder {
    class site;
    std::unique_ptr<site> site_;

public:
    /// The page in OpenMetrics or in Prometheus' older text. Called once for each request for the page.
    using pages = std::function<std::shared_ptr<std::string const>(bool open_metrics)>;

    responder();
    responder(responder&&) noexcept;
    responder& operator=(responder&&) = delete;
    ~responder();

    /// The whole answer to what a client sent: 200 with the page, or 400, 403, 404, 405 or 431 with a sentence. A
    /// `Host` that other sites can have is refused. Bytes behind
    /// the blank line are not read; bytes without a blank line are answered with 431.
    [[nodiscard]] std::string answer(std::string_view received, pages const& page);
};

}  // namespace ration::program
