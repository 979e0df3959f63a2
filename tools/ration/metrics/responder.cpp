// SPDX-License-Identifier: BSL-1.0
#include "responder.hpp"

#include <algorithm>
#include <optional>

#include "endpoint.hpp"
#include "memory_stream.hpp"

namespace ration::program {
namespace {

[[nodiscard]] char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

[[nodiscard]] bool names_open_metrics(std::string_view accepted) {
    constexpr std::string_view type = "application/openmetrics-text";
    return !std::ranges::search(accepted, type, [](char a, char b) { return lower(a) == lower(b); }).empty();
}

[[nodiscard]] bool accepts_open_metrics(httplib::Request const& request) {
    auto const [first, last] = request.headers.equal_range("Accept");
    return std::any_of(first, last, [](auto const& header) { return names_open_metrics(header.second); });
}

/// A client without `Host` is not a browser.
[[nodiscard]] bool is_of_other_site(httplib::Request const& request) {
    auto const [first, last] = request.headers.equal_range("Host");
    return std::any_of(first, last, [](auto const& header) { return !names_this_machine(header.second); });
}

[[nodiscard]] char const* sentence_of(int status) {
    switch (status) {
        case 404: return "ration's metrics are at /metrics\n";
        case 405: return "ration's metrics can only be read: use GET\n";
        case 431: return "a request for metrics has at most 4096 bytes\n";
        default: return "this is not an HTTP request: request /metrics with GET\n";
    }
}

/// The position behind the blank line.
[[nodiscard]] std::optional<std::size_t> end_of_head(std::string_view received) noexcept {
    auto const with_cr = received.find("\n\r\n"), without_cr = received.find("\n\n");
    if (with_cr == received.npos && without_cr == received.npos) return std::nullopt;
    return with_cr < without_cr ? with_cr + 3 : without_cr + 2;
}

/// The library as Debian builds it accepts no line that ends with LF alone.
[[nodiscard]] std::string with_cr_lf(std::string_view head) {
    std::string lines;
    lines.reserve(head.size() + 16);
    for (char const c : head) {
        if (c == '\n' && !lines.ends_with('\r')) lines += '\r';
        lines += c;
    }
    return lines;
}

}  // namespace

/// `/metrics`, and what is answered elsewhere. It never listens.
class responder::site : memory_server {
    pages const* page_ = nullptr;
    bool is_too_long_ = false;

public:
    site() {
        set_default_headers({{"Cache-Control", "no-store"}});
        set_pre_routing_handler(
            [this](httplib::Request const& request, httplib::Response& response) { return refuse(request, response); });
        Get("/metrics", [this](httplib::Request const& request, httplib::Response& response) {
            bool const open_metrics = accepts_open_metrics(request);
            response.set_content(*(*page_)(open_metrics),
                                 open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                              : "text/plain; version=0.0.4; charset=utf-8");
        });
        set_error_handler([](httplib::Request const&, httplib::Response& response) {
            auto const sentence = response.status == 403 ? std::string(other_host_sentence) + '\n'
                                                         : std::string(sentence_of(response.status));
            response.set_content(sentence, "text/plain; charset=utf-8");
        });
    }

    [[nodiscard]] std::string answer(std::string_view head, pages const& page) {
        page_ = &page;
        is_too_long_ = false;
        return exchange(head, simplify);
    }

    [[nodiscard]] std::string refuse_length() {
        is_too_long_ = true;
        return exchange("GET /metrics HTTP/1.1\r\n\r\n", simplify);
    }

private:
    HandlerResponse refuse(httplib::Request const& request, httplib::Response& response) const {
        bool const is_read = request.method == "GET" || request.method == "HEAD";
        bool const is_foreign = is_of_other_site(request);
        if (!is_too_long_ && is_read && !is_foreign) return HandlerResponse::Unhandled;
        response.status = is_too_long_ ? 431 : is_foreign ? 403 : 405;
        if (response.status == 405) response.set_header("Allow", "GET, HEAD");
        return HandlerResponse::Handled;
    }

    /// Compressing a page would take longer than making it, and nothing needs a part of one.
    static void simplify(httplib::Request& request) {
        request.headers.erase("Accept-Encoding");
        request.ranges.clear();
    }
};

bool has_complete_head(std::string_view received) noexcept { return end_of_head(received).has_value(); }

responder::responder() : site_(std::make_unique<site>()) {}
responder::responder(responder&&) noexcept = default;
responder::~responder() = default;

std::string responder::answer(std::string_view received, pages const& page) {
    auto const end = end_of_head(received);
    return end ? site_->answer(with_cr_lf(received.substr(0, *end)), page) : site_->refuse_length();
}

}  // namespace ration::program
