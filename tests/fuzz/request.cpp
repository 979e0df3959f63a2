// SPDX-License-Identifier: BSL-1.0
// Requests for metrics over HTTP: any bytes have one well-formed answer, and only a GET or HEAD of /metrics gets the
// page, in a format that the request accepts.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "metrics/responder.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;

namespace {

constexpr std::string_view page_text = "a page\n";
constexpr std::string_view statuses[] = {"200 OK",
                                         "400 Bad Request",
                                         "403 Forbidden",
                                         "404 Not Found",
                                         "405 Method Not Allowed",
                                         "416 ",
                                         "431 Request Header Fields Too Large"};

struct exchange {
    std::string answer;
    int pages = 0;
    bool open_metrics = false;
};

[[nodiscard]] exchange ask(std::string_view request) {
    static program::responder responder;  // one for all requests, as in a run: a request leaves nothing behind
    exchange made;
    made.answer = responder.answer(request, [&](bool open_metrics) {
        ++made.pages;
        made.open_metrics = open_metrics;
        return std::make_shared<std::string const>(page_text);
    });
    return made;
}

/// The value of a header that the answer has once.
[[nodiscard]] std::string_view header(std::string_view head, std::string_view name) {
    auto const at = head.find(name);
    require(at != head.npos, "an answer lacks a header");
    require(head.find(name, at + 1) == head.npos, "an answer has a header twice");
    auto const value = head.substr(at + name.size());
    return value.substr(0, value.find("\r\n"));
}

/// An answer whose request asked for the expectation "100-continue" begins with that.
[[nodiscard]] std::string_view without_continue(std::string_view answer) {
    for (std::string_view const interim : {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 417 Expectation Failed\r\n\r\n"})
        if (answer.starts_with(interim)) answer.remove_prefix(interim.size());
    return answer;
}

/// The library trims blanks around the words of a request line.
[[nodiscard]] std::string_view method_of(std::string_view request) {
    constexpr std::string_view blanks = " \t";
    request.remove_prefix(std::min(request.find_first_not_of(blanks), request.size()));
    return request.substr(0, request.find_first_of(" \t\r\n"));
}

void require_page(exchange const& made, std::string_view request, std::string_view head, std::string_view body) {
    bool const is_page = head.starts_with("HTTP/1.1 200 ");
    require(is_page == (made.pages == 1) && made.pages <= 1, "a page is made for another answer than 200");
    if (!is_page) return;
    bool const is_head = method_of(request) == "HEAD";
    require(is_head || method_of(request) == "GET", "another method gets the page");
    require(body == (is_head ? "" : page_text), "an answer has another page");
    auto const format = made.open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                          : "text/plain; version=0.0.4; charset=utf-8";
    require(header(head, "\r\nContent-Type: ") == format, "a page has another format");
    std::string lower(request);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    bool const is_named = lower.find("application/openmetrics-text") != lower.npos;
    require(is_named || !made.open_metrics, "a page has a format that no header names");
}

void require_answer(std::string_view request) {
    auto const made = ask(request);
    auto const answer = without_continue(made.answer);
    auto const end = answer.find("\r\n\r\n");
    require(end != answer.npos, "an answer's head has no end");
    auto const head = answer.substr(0, end + 2), body = answer.substr(end + 4);
    require(head.starts_with("HTTP/1.1 "), "an answer has no status line");
    bool const is_known =
        std::ranges::any_of(statuses, [&](auto status) { return head.substr(9).starts_with(status); });
    require(is_known, "an answer has another status");
    require(header(head, "\r\nConnection: ") == "close", "an answer leaves its connection open");
    require(header(head, "\r\nCache-Control: ") == "no-store", "an answer may be stored");
    auto const length = std::strtoul(std::string(header(head, "\r\nContent-Length: ")).c_str(), nullptr, 10);
    require(length == body.size() || (body.empty() && method_of(request) == "HEAD"), "an answer has another length");
    bool const is_allowing = head.find("\r\nAllow: GET, HEAD\r\n") != head.npos;
    require(is_allowing == head.starts_with("HTTP/1.1 405 "), "only a refused method is answered with those allowed");
    bool const is_whole = program::has_complete_head(request);
    require(is_whole != head.starts_with("HTTP/1.1 431 "), "another request than one without an end is too long");
    require_page(made, request, head, body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string const bytes(reinterpret_cast<char const*>(data), size);
    require_answer(bytes);
    require_answer(bytes + "Accept: application/openmetrics-text\r\n\r\n");
    require_answer("GET /metrics HTTP/1.1\r\n" + bytes + "\r\n\r\n");
    for (std::size_t const length : {4095, 4096})
        require_answer(bytes + std::string(length - std::min(size, length), 'x') + "\r\n\r\n");
    return 0;
}
