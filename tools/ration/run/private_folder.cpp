// SPDX-License-Identifier: BSL-1.0
#include "run/private_folder.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ration::program {
namespace {

constexpr int most_links = 40;  // as the kernel allows in one path
constexpr char const* remedy = "remove it, or set XDG_RUNTIME_DIR to a folder of your own";
constexpr char const* remedy_for_file = "remove it, or start ration in a folder that only you can change";

/// Of folders on the way to a place.
enum class folder_rule : unsigned char {
    of_trusted_users,  ///< no other user can put another one there
    any,
};

[[nodiscard]] error failed(std::string const& path) {
    return process::system_error("use folder", std::string_view(path), errno, remedy);
}

[[nodiscard]] error refused(std::string const& path) {
    return {.code = errc::denied, .operation = "use folder", .subject = std::string_view(path), .remedy = remedy};
}

/// In a user namespace root may have no number; then the owner of "/" has its place.
[[nodiscard]] bool is_trusted(uid_t owner, uid_t of_root) noexcept {
    return owner == 0 || owner == ::geteuid() || owner == of_root;
}

[[nodiscard]] bool only_trusted_can_change(struct stat const& about, uid_t of_root) noexcept {
    bool const closed = (about.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (about.st_mode & S_ISVTX) != 0;
    return S_ISDIR(about.st_mode) && is_trusted(about.st_uid, of_root) && closed;
}

/// The components of a path, the last one first.
void push_components(std::vector<std::string>& left, std::string_view path) {
    while (!path.empty()) {
        auto const slash = path.rfind('/');
        auto const name = path.substr(slash == path.npos ? 0 : slash + 1);
        if (!name.empty() && name != ".") left.emplace_back(name);
        path = path.substr(0, slash == path.npos ? 0 : slash);
    }
}

[[nodiscard]] process::descriptor open_root() {
    return process::descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// One walk from "/".
class walk {
    process::descriptor at_ = open_root();
    uid_t of_root_ = 0;
    std::vector<std::string> left_;
    std::string passed_;
    folder_rule rule_;
    int links_ = 0;

public:
    walk(std::string_view path, folder_rule rule) : rule_(rule) {
        struct stat about{};
        if (::fstat(at_.get(), &about) == 0) of_root_ = about.st_uid;
        push_components(left_, path);
    }

    [[nodiscard]] bool done() const noexcept { return left_.empty(); }
    [[nodiscard]] process::descriptor take() noexcept { return std::move(at_); }

    [[nodiscard]] result<void> step() {
        auto const name = std::move(left_.back());
        left_.pop_back();
        passed_ += '/' + name;
        process::descriptor next(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat about{};
        if (!next || ::fstat(next.get(), &about) != 0) return failed(passed_);
        if (S_ISLNK(about.st_mode)) return follow(next, about.st_uid);
        if (rule_ == folder_rule::of_trusted_users && !only_trusted_can_change(about, of_root_))
            return refused(passed_);
        at_ = std::move(next);
        return {};
    }

private:
    [[nodiscard]] result<void> follow(process::descriptor const& link, uid_t owner) {
        std::array<char, PATH_MAX> target;
        auto const length = ::readlinkat(link.get(), "", target.data(), target.size());
        if (length <= 0) return failed(passed_);
        if (!is_trusted(owner, of_root_) || ++links_ > most_links) return refused(passed_);
        std::string_view const path(target.data(), static_cast<std::size_t>(length));
        if (path.starts_with('/')) at_ = open_root();
        push_components(left_, path);
        return {};
    }
};

[[nodiscard]] result<process::descriptor> open_on_way(std::string const& path, folder_rule rule) {
    walk here(path, rule);
    while (!here.done())
        if (auto const stepped = here.step(); !stepped) return stepped.failure();
    return here.take();
}

[[nodiscard]] char const* name_in(std::string const& path) {
    auto const slash = path.rfind('/');
    return path.c_str() + (slash == path.npos ? 0 : slash + 1);
}

}  // namespace

result<process::descriptor> open_trusted_folder(std::string const& path) {
    return open_on_way(path, folder_rule::of_trusted_users);
}

result<process::descriptor> open_own_file(std::string const& path, int flags, mode_t mode) {
    auto const folder = open_folder_of(path);
    if (!folder) return folder.failure();
    process::descriptor file(::openat(folder->get(), name_in(path), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0)
        return process::system_error("open", std::string_view(path), errno, remedy_for_file);
    bool const is_own = about.st_uid == ::geteuid() && (!S_ISREG(about.st_mode) || about.st_nlink <= 1);
    if (!is_own)
        return error{
            .code = errc::denied, .operation = "open", .subject = std::string_view(path), .remedy = remedy_for_file};
    return file;
}

result<process::descriptor> open_folder_of(std::string const& path) {
    std::error_code failure;
    return open_on_way(std::filesystem::absolute(path, failure).parent_path().string(), folder_rule::any);
}

result<void> make_own_folder(std::string const& path) {
    auto const above = open_folder_of(path);
    if (!above) return above.failure();
    if (::mkdirat(above->get(), name_in(path), 0777) == 0) return {};
    return process::system_error("make folder", std::string_view(path), errno, remedy_for_file);
}

result<process::descriptor> open_private_folder(process::descriptor const& parent, std::string const& name,
                                                std::string const& path, mode_t mode) {
    process::descriptor folder(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && (errno == ENOTDIR || errno == ELOOP)) return refused(path);
    struct stat about{};
    if (!folder || ::fstat(folder.get(), &about) != 0) return failed(path);
    if (about.st_uid != ::geteuid() || (about.st_mode & 0077 & ~mode) != 0) return refused(path);
    return folder;
}

result<process::descriptor> make_private_folder(process::descriptor const& parent, std::string const& name,
                                                std::string const& path, mode_t mode) {
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return failed(path);
    auto folder = open_private_folder(parent, name, path, mode);
    if (folder && mode != 0700 && ::fchmod(folder->get(), mode) != 0) return failed(path);
    return folder;
}

result<process::descriptor> open_folder(std::string const& path) {
    process::descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return failed(path);
    return folder;
}

bool try_lock(process::descriptor const& folder) noexcept { return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

}  // namespace ration::program
