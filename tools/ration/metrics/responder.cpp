// SPDX-License-Identifier: BSL-1.0
// The only file that includes httplib.h, which is expensive to compile. It compiles with 0.11 (Debian 12), with 0.18
// (Debian 13) and with later versions.
#include "responder.hpp"

#include <algorithm>
#include <httplib.h>
#include <optional>

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

[[nodiscard]] char const* sentence_of(int status) {
    switch (status) {
        case 404: return "ration's metrics are at /metrics\n";
        case 405: return "ration's metrics can only be read: use GET\n";
        case 431: return "a request for metrics has at most 4096 bytes\n";
        default: return "this is no HTTP request: ask for /metrics with GET\n";
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

/// The request as the library reads it from a connection, and the answer that it writes there. Versions of the library
/// differ in which of these functions are virtual, hence no `override`.
// NOLINTBEGIN(modernize-use-override)
class memory_stream final : public httplib::Stream {
    std::string_view unread_;
    std::string written_;

public:
    explicit memory_stream(std::string_view request) : unread_(request) {}

    [[nodiscard]] std::string take() { return std::move(written_); }

    ssize_t read(char* to, size_t size) {
        auto const count = unread_.copy(to, size);
        unread_.remove_prefix(count);
        return static_cast<ssize_t>(count);
    }
    ssize_t write(char const* from, size_t size) {
        written_.append(from, size);
        return static_cast<ssize_t>(size);
    }
    [[nodiscard]] bool is_readable() const { return !unread_.empty(); }
    [[nodiscard]] bool wait_readable() const { return is_readable(); }
    [[nodiscard]] bool is_writable() const { return true; }
    [[nodiscard]] bool wait_writable() const { return true; }
    void get_remote_ip_and_port(std::string&, int&) const {}
    void get_local_ip_and_port(std::string&, int&) const {}
    [[nodiscard]] socket_t socket() const { return INVALID_SOCKET; }
    [[nodiscard]] time_t duration() const { return 0; }
};
// NOLINTEND(modernize-use-override)

}  // namespace

/// `/metrics`, and what is answered elsewhere. It never listens.
class responder::site : httplib::Server {
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
            response.set_content(sentence_of(response.status), "text/plain; charset=utf-8");
        });
    }

    [[nodiscard]] std::string answer(std::string_view head, pages const& page) {
        memory_stream stream(head);
        page_ = &page;
        is_too_long_ = false;
        process(stream);
        return stream.take();
    }

    [[nodiscard]] std::string refuse_length() {
        memory_stream stream("GET /metrics HTTP/1.1\r\n\r\n");
        is_too_long_ = true;
        process(stream);
        return stream.take();
    }

private:
    HandlerResponse refuse(httplib::Request const& request, httplib::Response& response) const {
        bool const is_read = request.method == "GET" || request.method == "HEAD";
        if (!is_too_long_ && is_read) return HandlerResponse::Unhandled;
        response.status = is_too_long_ ? 431 : 405;
        if (!is_read) response.set_header("Allow", "GET, HEAD");
        return HandlerResponse::Handled;
    }

    template <class Stream>
    void process(Stream& stream) {
        // Compressing a page would take longer than making it, and nothing needs a part of one.
        auto const simplify = [](httplib::Request& request) {
            request.headers.erase("Accept-Encoding");
            request.ranges.clear();
        };
        bool is_closed = true;
        if constexpr (requires { this->process_request(stream, "", 0, "", 0, true, is_closed, simplify); })
            this->process_request(stream, "", 0, "", 0, true, is_closed, simplify);
        else
            this->process_request(stream, true, is_closed, simplify);
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
