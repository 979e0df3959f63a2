// SPDX-License-Identifier: BSL-1.0
#include "serve/access.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "serve/api.hpp"
#include "serve/page_files.hpp"

namespace ration::program {
namespace {

constexpr std::string_view bearer = "Bearer ";
constexpr process::input_rules token_rules{.remedy = "name a file with a token of at least 32 characters",
                                           .most_bytes = 4096,
                                           .too_large = "is larger than 4 KiB"};

[[nodiscard]] error token_error(errc code, char const* operation, std::string_view path, char const* remedy) {
    return {.code = code, .operation = operation, .subject = path, .remedy = remedy};
}

[[nodiscard]] http_reply deny(int status, std::string_view sentence) { return {status, error_json(sentence)}; }

/// Whether a page of this service sends the request, or no page.
[[nodiscard]] bool is_same_origin(request_head const& head) {
    auto const origin = head.find("origin"), site = head.find("sec-fetch-site");
    if (origin && *origin != fmt::format("http://{}", head.find("host").value_or(""))) return false;
    return !site || *site == "same-origin" || *site == "none";
}

}  // namespace

bool is_same_secret(std::string_view given, std::string_view secret) noexcept {
    unsigned differences = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < secret.size(); ++i)
        differences |= static_cast<unsigned char>((i < given.size() ? given[i] : '\0') ^ secret[i]);
    return differences == 0;
}

result<std::string> read_token(std::string const& path) {
    auto const file = process::open_input(path, token_rules);
    if (!file) return file.failure();
    struct stat about{};
    if (::fstat(file->get(), &about) != 0 || about.st_uid != ::geteuid())
        return token_error(errc::denied, "read the token from", path, "the file is another user's: make your own");
    if ((about.st_mode & 07777) != 0600)
        return token_error(errc::denied, "read the token from", path, "other users may use the file: chmod 600 it");
    std::array<char, token_rules.most_bytes> bytes{};
    auto const length = process::read_next(*file, bytes.data(), bytes.size());
    if (!length) return length.failure();
    std::string token(bytes.data(), *length);
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
    bool const visible = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
    if (!visible || token.size() < shortest_token || token.size() > longest_token)
        return token_error(errc::invalid_value, "read the token from", path,
                           "write one line of 32 to 512 visible characters into it, as by: openssl rand -hex 32");
    return token;
}

result<loopback_endpoint, diagnostic> parse_listen_address(std::string_view word) {
    auto const where = parse_endpoint(word);
    if (where && std::holds_alternative<loopback_endpoint>(*where)) return std::get<loopback_endpoint>(*where);
    return diagnostic{.text = fmt::format("{} is not a loopback address with a port; write 127.0.0.1:8080 or "
                                          "[::1]:8080, and use ssh -L from other machines",
                                          quoted(word))};
}

std::optional<http_reply> access_rules::refusal(request_head const& head) const {
    for (auto const* const name : {"host", "origin", "authorization", "content-length", "sec-fetch-site"})
        if (head.count(name) > 1) return deny(400, fmt::format("the request has '{}' twice: send it once", name));
    if (head.count("transfer-encoding") > 0) return deny(400, "the body has no length: send 'Content-Length'");
    if (!token_.empty()) return refusal_over_tcp(head);
    // Each browser sends a host, also through a forwarded port
    if (auto const host = head.find("host"); host && !names_this_machine(*host)) return deny(403, other_host_sentence);
    if (head.count("origin") + head.count("sec-fetch-site") == 0) return std::nullopt;
    return deny(403, "a browser cannot use this socket: start the service with --listen");
}

std::optional<http_reply> access_rules::refusal_over_tcp(request_head const& head) const {
    if (!names_this_machine(head.find("host").value_or(""))) return deny(403, other_host_sentence);
    if (page_file_of(head) != nullptr) return std::nullopt;
    if (!is_same_origin(head)) return deny(403, "another site sent the request: open the page of the service");
    auto const given = head.find("authorization").value_or("");
    bool const known = given.starts_with(bearer) && is_same_secret(given.substr(bearer.size()), token_);
    if (!known) return deny(401, "the token is missing or wrong: send 'Authorization: Bearer TOKEN'");
    return std::nullopt;
}

}  // namespace ration::program
