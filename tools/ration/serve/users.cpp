// SPDX-License-Identifier: BSL-1.0
#include "serve/users.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/progress/receiver.hpp>

#include "run/private_folder.hpp"

namespace ration::program {
namespace {

constexpr int most_groups = 65536;  // as the kernel allows

[[nodiscard]] std::vector<gid_t> groups_of(passwd const& user) {
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    while (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0 && count <= most_groups)
        groups.resize(static_cast<std::size_t>(count));
    groups.resize(static_cast<std::size_t>(std::min<std::ptrdiff_t>(count, std::ssize(groups))));
    return groups;
}

[[nodiscard]] error cannot_make(std::string const& path) {
    return process::path_error("make the folder", path, errno, "remove it: the service makes it again");
}

/// The link may be that of an older service, or anything that the user has put there.
[[nodiscard]] result<void> link_progress_socket(job_owner const& owner, char const* socket) {
    process::file_rights const rights(&owner.account);
    auto const* const link = owner.progress_socket.c_str();
    std::error_code ignored;
    if (std::filesystem::read_symlink(link, ignored) == socket) return {};
    static_cast<void>(::unlink(link));
    bool const linked = ::symlink(socket, link) == 0;
    return linked || errno == EEXIST ? result<void>() : cannot_make(owner.progress_socket);
}

}  // namespace

std::optional<job_owner> owner_of(std::int64_t uid, service_folder const& folder) {
    auto const* const user = ::getpwuid(static_cast<uid_t>(uid));
    if (user == nullptr) return std::nullopt;
    std::string const name = user->pw_name;
    return job_owner{.account = {.uid = user->pw_uid, .gid = user->pw_gid, .groups = groups_of(*user)},
                     .environment = {"PATH=/usr/local/bin:/usr/bin:/bin", std::string("HOME=") + user->pw_dir,
                                     std::string("SHELL=") + user->pw_shell, "USER=" + name, "LOGNAME=" + name},
                     .folder = folder.output_of(uid),
                     .progress_socket = folder.output_of(uid) + "/progress"};
}

result<void> make_folder_of(job_owner const& owner, service_folder const& folder) {
    auto const all = open_folder(folder.users());
    if (!all) return all.failure();
    auto const& [uid, gid, groups] = owner.account;
    auto const name = std::to_string(uid);
    // Only root can change the folder above, so that no other user can put something there meanwhile
    bool const made = ::mkdirat(all->get(), name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return cannot_make(owner.folder);
    if (made && ::fchownat(all->get(), name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
        return cannot_make(owner.folder);
    struct stat about{};
    bool const good = ::fstatat(all->get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode);
    if (!good || about.st_uid != uid)
        return error{.code = errc::denied,
                     .operation = "use the folder",
                     .subject = std::string_view(owner.folder),
                     .remedy = "it is not a folder of its user: remove it"};
    return link_progress_socket(owner, progress::receiver::path_of(folder.progress_socket(), uid).c_str());
}

bool is_tenant_of(job_owner const& owner, std::string const& tenant) {
    auto const* const user = ::getpwuid(owner.account.uid);
    if (user != nullptr && tenant == user->pw_name) return true;
    auto const group = group_named(tenant);
    return group && std::ranges::find(owner.account.groups, *group) != owner.account.groups.end();
}

std::optional<gid_t> group_named(std::string const& name) {
    auto const* const group = ::getgrnam(name.c_str());
    return group != nullptr ? std::optional(group->gr_gid) : std::nullopt;
}

}  // namespace ration::program
