// SPDX-License-Identifier: BSL-1.0
// Requests for metrics over HTTP: each is read as a plain reading of its lines says, also at the limit of its length,
// and has a well-formed answer.
#include "metrics/request.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using program::asked;

namespace {

/// Request line and headers, without their ends; empty when no blank line is behind them.
[[nodiscard]] std::vector<std::string> lines_of_head(std::string_view bytes) {
    auto const all = fuzz::split(bytes, '\n');
    std::vector<std::string> head;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {  // behind the last LF is no whole line
        std::string line(all[i]);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (i > 0 && line.empty()) return head;
        head.push_back(line);
    }
    return {};
}

[[nodiscard]] asked asked_by(std::string const& line) {
    auto const words = fuzz::split(line, ' ');
    if (words.size() < 3 || !words.back().starts_with("HTTP/1.")) return asked::nonsense;
    if (words[0] != "GET" && words[0] != "HEAD") return asked::another_method;
    auto const path = fuzz::split(words[1], '?')[0];
    // A blank is refused in a path, and not in a query
    bool const has_blank = words.size() > 3 && words[1].find('?') == words[1].npos;
    if (path != "/metrics" || has_blank) return asked::another_page;
    return words[0] == "GET" ? asked::metrics : asked::metrics_head;
}

[[nodiscard]] program::request expected(std::string_view bytes) {
    auto const lines = lines_of_head(bytes);
    if (lines.empty()) return {bytes.size() < 4096 ? asked::more : asked::too_much};
    program::request read{asked_by(lines[0])};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto line = lines[i];
        for (char& c : line)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        read.open_metrics |= line.starts_with("accept:") && line.find("application/openmetrics-text") != line.npos;
    }
    return read;
}

void require_read(std::string_view bytes) {
    auto const read = program::read_request(bytes), plain = expected(bytes);
    require(read.what == plain.what, "a request is read as another one");
    require(read.open_metrics == plain.open_metrics, "a request is answered in a format that it does not take");
}

[[nodiscard]] std::string_view status_of(asked what) {
    switch (what) {
        case asked::another_page: return "404 ";
        case asked::another_method: return "405 ";
        case asked::too_much: return "431 ";
        case asked::nonsense: return "400 ";
        default: return "200 ";
    }
}

void require_answer(program::request const& read) {
    auto const head = program::answer_head(read, 7);
    require(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n\r\n"), "an answer's head is not one");
    require(head.find("\r\n\r\n") == head.size() - 4, "an answer's head has an empty line inside");
    require(head.find("Content-Length: 7\r\n") != head.npos, "an answer has another length");
    require(head.substr(9).starts_with(status_of(read.what)), "an answer has another status");
    bool const is_allowing = head.find("\r\nAllow: GET, HEAD\r\n") != head.npos;
    require(is_allowing == (read.what == asked::another_method),
            "only a refused method is answered with those allowed");
    bool const is_page = read.what == asked::metrics || read.what == asked::metrics_head;
    bool const is_open = head.find("\r\nContent-Type: application/openmetrics-text; version=1.0.0;") != head.npos;
    require(is_open == (is_page && read.open_metrics), "a page has another format");
    require(is_page == program::answer_text(read.what).empty(), "a refusal has no sentence");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string const bytes(reinterpret_cast<char const*>(data), size);
    require_read(bytes);
    require_read(bytes + "Accept: application/openmetrics-text\r\n\r\n");
    for (std::size_t const length : {4095, 4096, 4097})
        require_read(bytes + std::string(length - std::min(size, length), 'x'));
    auto const read = program::read_request(bytes);
    if (read.what != asked::more) require_answer(read);
    return 0;
}
