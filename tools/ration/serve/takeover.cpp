// SPDX-License-Identifier: BSL-1.0
#include "serve/takeover.hpp"

#include <csignal>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include "events/json_reader.hpp"
#include "run/private_folder.hpp"
#include "serve/service_call.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr useconds_t interval = 50'000;
constexpr int intervals_of_replace = 600;
/// The worker of a killed service ends a moment after it, and holds its lock until then.
constexpr int intervals_of_start = 40;

/// Asks the service of the folder to end, which is as sudden as SIGKILL. A service that is not there has ended already.
[[nodiscard]] result<void> end_service(service_folder const& folder) {
    auto const reply = ask_service(folder, "GET", "/v1/service");
    if (!reply) return reply.failure().code == errc::not_found ? result<void>() : reply.failure();
    auto const json = parse_json(reply->json);
    auto const pid = json.is_object() && json.contains("pid") && json["pid"].is_number_integer()
                         ? json["pid"].get<std::int64_t>()
                         : 0;
    if (pid > 1 && ::kill(static_cast<pid_t>(pid), SIGTERM) == 0) return {};
    return error{.code = errc::io,
                 .operation = "end the service at",
                 .subject = std::string_view(folder.path),
                 .remedy = "end it yourself: its jobs run on"};
}

}  // namespace

result<process::descriptor> open_state(service_folder const& folder, bool replace) {
    std::error_code failure;
    auto const above = fs::path(folder.path).parent_path().string();
    fs::create_directories(above, failure);
    auto const parent = open_trusted_folder(above);
    if (!parent) return parent.failure();
    auto state = make_private_folder(*parent, fs::path(folder.path).filename(), folder.path);
    if (!state) return state;
    for (auto const* const name : {"jobs", "ends"})
        if (auto made = make_private_folder(*state, name, folder.path + '/' + name); !made) return made;
    auto locked = open_folder(folder.path);
    if (!locked || try_lock(*locked)) return locked;
    auto const ended = replace ? end_service(folder) : result<void>();
    if (!ended) return ended.failure();
    for (int i = 0; i < (replace ? intervals_of_replace : intervals_of_start); ++i) {
        if (try_lock(*locked)) return locked;
        ::usleep(interval);
    }
    return error{.code = errc::busy,
                 .operation = "lock the state folder",
                 .subject = std::string_view(folder.path),
                 .remedy =
                     "another service has it: use that one, replace it by --replace, or name another folder by "
                     "--state"};
}

}  // namespace ration::program
