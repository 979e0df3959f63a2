// SPDX-License-Identifier: BSL-1.0
#include "request.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ration::program {
namespace {

[[nodiscard]] char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

[[nodiscard]] bool same_letters(char a, char b) { return lower(a) == lower(b); }

[[nodiscard]] bool starts_with_letters(std::string_view text, std::string_view letters) {
    return text.size() >= letters.size() && std::ranges::equal(text.substr(0, letters.size()), letters, same_letters);
}

/// Takes the next line off, without its CR LF or LF; the head has one.
[[nodiscard]] std::string_view next_line(std::string_view& rest) {
    auto const end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

[[nodiscard]] asked classify(std::string_view line) {
    auto const first = line.find(' '), last = line.rfind(' ');
    if (first == line.npos || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) return asked::nonsense;
    auto const method = line.substr(0, first);
    auto const target = line.substr(first + 1, last - first - 1);
    if (method != "GET" && method != "HEAD") return asked::another_method;
    if (target.substr(0, target.find('?')) != "/metrics") return asked::another_page;
    return method == "GET" ? asked::metrics : asked::metrics_head;
}

[[nodiscard]] bool takes_open_metrics(std::string_view header) {
    constexpr std::string_view name = "accept:", type = "application/openmetrics-text";
    return starts_with_letters(header, name) && !std::ranges::search(header, type, same_letters).empty();
}

}  // namespace

request read_request(std::string_view head) {
    auto const end = std::min(head.find("\n\r\n"), head.find("\n\n"));
    if (end == head.npos) return {head.size() >= longest_request ? asked::too_much : asked::more};
    auto rest = head.substr(0, end + 1);
    request read{classify(next_line(rest))};
    while (!rest.empty()) read.open_metrics |= takes_open_metrics(next_line(rest));
    return read;
}

std::string_view answer_text(asked what) {
    switch (what) {
        case asked::another_page: return "ration's metrics are at /metrics\n";
        case asked::another_method: return "ration's metrics can only be read: use GET\n";
        case asked::too_much: return "a request for metrics has at most 4096 bytes\n";
        case asked::nonsense: return "this is no HTTP request: ask for /metrics with GET\n";
        default: return {};
    }
}

std::string answer_head(request const& to, std::size_t length) {
    char const* status = "200 OK";
    char const* type = "text/plain; charset=utf-8";
    switch (to.what) {
        case asked::another_page: status = "404 Not Found"; break;
        case asked::another_method: status = "405 Method Not Allowed\r\nAllow: GET, HEAD"; break;
        case asked::too_much: status = "431 Request Header Fields Too Large"; break;
        case asked::nonsense: status = "400 Bad Request"; break;
        default:
            type = to.open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                   : "text/plain; version=0.0.4; charset=utf-8";
    }
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        status, type, length);
}

}  // namespace ration::program
