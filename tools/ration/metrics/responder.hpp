// SPDX-License-Identifier: BSL-1.0
/// The head of an HTTP request, as far as asking for metrics needs it.
#pragma once

#include <string>
#include <string_view>

namespace ration::program {

/// A longer one is refused.
inline constexpr std::size_t longest_request = 4096;

enum class asked : unsigned char {
    more,            ///< the head has not come to its end
    metrics,         ///< GET /metrics
    metrics_head,    ///< HEAD /metrics
    another_page,    ///< 404
    another_method,  ///< 405
    nonsense,        ///< 400
    too_much,        ///< 431
};

struct request {
    asked what = asked::more;
    bool open_metrics = false;  ///< the client takes application/openmetrics-text, besides Prometheus' older text
};

/// `head`: all that has come. Bytes after the blank line are not looked at. O(length).
[[nodiscard]] request read_request(std::string_view head);

/// Status line and headers of the answer, with the blank line. `length` is that of what follows; nothing is kept alive.
[[nodiscard]] std::string answer_head(request const& to, std::size_t length);
/// What follows, where that is no page of metrics: a sentence.
[[nodiscard]] std::string_view answer_text(asked what);

}  // namespace ration::program
