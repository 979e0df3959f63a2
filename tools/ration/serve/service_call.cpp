// SPDX-License-Identifier: BSL-1.0
#include "serve/service_call.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "events/json_reader.hpp"
#include "serve/daemon.hpp"

namespace ration::program {

namespace {

/// Whether the socket is of this user or of root, so that no other user gets the request, which may have an
/// environment. Root may ask the services of all users. A socket that does not exist is reported later.
[[nodiscard]] bool is_trusted(service_folder const& folder) {
    for (auto const& path : {folder.path, folder.socket()}) {
        struct stat about{};
        if (::stat(path.c_str(), &about) != 0) {
            if (errno == EACCES) return false;
            continue;
        }
        if (about.st_uid != 0 && about.st_uid != ::geteuid() && ::geteuid() != 0) return false;
    }
    return true;
}

}  // namespace

result<http_reply> ask_service(service_folder const& folder, std::string const& method, std::string const& path,
                               std::string const& body) {
    if (!is_trusted(folder))
        return error{.code = errc::denied,
                     .operation = "ask the service at",
                     .subject = std::string_view(folder.path),
                     .remedy = "another user owns its folder or its socket: name your own by --state"};
    return ask_http(folder.socket(), method, path, body);
}

exit_code refused(http_reply const& reply) {
    auto const json = parse_json(reply.json);
    bool const known = json.is_object() && json.contains("error") && json["error"].is_string();
    bool const is_input = reply.status == 400 || reply.status == 404 || reply.status == 409;
    return fail(is_input ? exit_code::bad_input : exit_code::no_backend,
                known ? json["error"].get<std::string>() : "the service gave no valid answer; restart it");
}

exit_code unreachable(error why, service_folder const& folder) {
    if (why.code != errc::not_found) return fail(exit_code::no_backend, to_text(why));
    why.remedy = "";
    if (folder.of_root && ::geteuid() != 0)
        return fail(exit_code::no_backend, fmt::format("{}; ask root to start it", to_text(why)));
    bool const is_default = folder.path == state_folder_named("").path;
    return fail(exit_code::no_backend, fmt::format("{}; start it: ration serve{}", to_text(why),
                                                   is_default ? "" : " --state " + printable(folder.path)));
}

}  // namespace ration::program
