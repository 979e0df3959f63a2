// SPDX-License-Identifier: BSL-1.0
#include "serve/http.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "metrics/memory_stream.hpp"

namespace ration::program {
namespace {

constexpr char const* json_type = "application/json";
constexpr time_t patience_s = 30;

using handler_of_requests =
    std::function<http_reply(std::string const& method, std::string const& path, std::string const& body)>;

class api_site : memory_server {
public:
    explicit api_site(handler_of_requests const& handler) {
        auto const pass = [&handler](httplib::Request const& request, httplib::Response& response) {
            auto const reply = handler(request.method, request.target, request.body);
            response.status = reply.status;
            response.set_content(reply.json, json_type);
        };
        Get(".*", pass);
        Post(".*", pass);
        Delete(".*", pass);
        set_default_headers({{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
        set_payload_max_length(longest_body);
        set_error_handler([](httplib::Request const&, httplib::Response& response) {
            if (response.body.empty())
                response.set_content(
                    R"({"error":"the message is not a request of the API: read docs/service-api.json"})", json_type);
        });
    }

    [[nodiscard]] std::string answer(std::string_view request) {
        return exchange(request, [](httplib::Request& parsed) { parsed.headers.erase("Accept-Encoding"); });
    }
};

[[nodiscard]] std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// The number behind "content-length:"; 0 without one, none if it is not a number.
[[nodiscard]] std::optional<std::size_t> content_length(std::string const& head) {
    constexpr std::string_view name = "\r\ncontent-length:";
    auto const at = head.find(name);
    if (at == head.npos) return 0;
    auto const first = head.find_first_not_of(' ', at + name.size());
    std::size_t length = 0;
    auto const [end, fault] = std::from_chars(head.data() + first, head.data() + head.size(), length);
    if (first == head.npos || fault != std::errc() || *end != '\r') return std::nullopt;
    return length;
}

}  // namespace

message_state state_of_request(std::string_view received) {
    auto const end = received.find("\r\n\r\n");
    if (end == received.npos) return received.size() > longest_head ? message_state::too_long : message_state::partial;
    auto const length = content_length(lower(received.substr(0, end + 2)));
    if (!length || *length > longest_body || end + 4 > longest_head) return message_state::too_long;
    return received.size() >= end + 4 + *length ? message_state::complete : message_state::partial;
}

std::string answer_http(std::string_view request, handler_of_requests const& handler) {
    return api_site(handler).answer(request);
}

std::string refusal_http(http_reply const& reply) {
    return answer_http("GET / HTTP/1.1\r\n\r\n", [&](auto const&, auto const&, auto const&) { return reply; });
}

result<http_reply> ask_http(std::string const& socket, std::string const& method, std::string const& path,
                            std::string const& body) {
    httplib::Client client(socket);
    client.set_address_family(AF_UNIX);
    client.set_connection_timeout(patience_s);
    client.set_read_timeout(patience_s);
    auto const reply = method == "POST"     ? client.Post(path, body, json_type)
                       : method == "DELETE" ? client.Delete(path)
                                            : client.Get(path);
    if (reply) return http_reply{reply->status, reply->body};
    bool const absent = reply.error() == httplib::Error::Connection;
    return error{.code = absent ? errc::not_found : errc::io,
                 .operation = "ask the service at",
                 .subject = std::string_view(socket),
                 .remedy = absent ? "start it: ration serve" : "read its messages, and repeat the command"};
}

}  // namespace ration::program
