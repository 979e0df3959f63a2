// SPDX-License-Identifier: BSL-1.0
#include "serve/control_client.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

#include "config/config.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "serve/daemon.hpp"
#include "serve/service_call.hpp"

namespace ration::program {
namespace {

constexpr useconds_t interval_of_wait = 200'000;

/// The number of running jobs in a description of the service; none in another text.
[[nodiscard]] std::optional<std::int64_t> running_in(std::string const& description) {
    auto const json = parse_json(description);
    if (!json.is_object() || !json.contains("running") || !json["running"].is_number_integer()) return std::nullopt;
    return json["running"].get<std::int64_t>();
}

}  // namespace

exit_code drain_service(drain_options const& options) {
    auto const folder = service_folder_named(options.folder);
    auto reply = ask_service(folder, options.undo ? "DELETE" : "POST", "/v1/service/drain");
    for (;; ::usleep(interval_of_wait)) {
        if (!reply) return unreachable(reply.failure(), folder);
        if (reply->status >= 300) return refused(*reply);
        auto const running = running_in(reply->json);
        if (!running) return refused(*reply);
        if (options.wait && !options.undo && *running > 0) {
            reply = ask_service(folder, "GET", "/v1/service");
            continue;
        }
        if (options.json)
            std::puts(reply->json.c_str());
        else
            fmt::print("{}; {} running\n", options.undo ? "jobs start again" : "no further job starts", *running);
        return exit_code::ok;
    }
}

exit_code set_policy(policy_options const& options) {
    std::string body;
    json_writer json(body);
    json.object([&] {
        bool const is_file = is_plugin_path(options.policy);
        json.member("policy", is_file ? std::filesystem::absolute(options.policy).string() : options.policy);
        json.key("settings").array([&] {
            for (auto const& one : options.settings) json.value(one);
        });
    });
    auto const folder = service_folder_named(options.folder);
    auto const reply = ask_service(folder, "POST", "/v1/service/policy", body);
    if (!reply) return unreachable(reply.failure(), folder);
    if (reply->status >= 300) return refused(*reply);
    if (options.json) std::puts(reply->json.c_str());
    return exit_code::ok;
}

}  // namespace ration::program
