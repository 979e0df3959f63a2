// SPDX-License-Identifier: BSL-1.0
#include "serve/page_files.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ration::program {
namespace {

constexpr char const* rules_of_browsers =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

}  // namespace

page_file const* page_file_of(request_head const& head) noexcept {
    auto const files = page_files();
    auto const found = std::ranges::find(files, head.target, &page_file::target);
    return head.method == "GET" && found != files.end() ? &*found : nullptr;
}

std::string page_reply(page_file const& file) {
    return fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{}"
        "Connection: close\r\n\r\n{}",
        file.type, file.text.size(), rules_of_browsers, file.text);
}

}  // namespace ration::program
