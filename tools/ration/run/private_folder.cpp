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

// Causes with their remedies
constexpr char const *not_a_folder = "it is not a folder: remove it, or name another one",
                     *is_a_link = "it is a symbolic link: name the folder to which it leads",
                     *link_of_others = "it is a symbolic link of another user: name a path without it",
                     *of_others = "it belongs to another user: use a folder of your own",
                     *changed_by_others = "other users may write to it: chmod go-w it",
                     *open_to_others = "other users have rights to it: chmod 700 it",
                     *file_of_others =
                         "the file belongs to another user: remove it, or start ration in a folder of your own",
                     *other_names = "the file has other names, which are hard links to it: remove it";

/// Of folders on the way to a place.
enum class folder_rule : unsigned char {
    of_trusted_users,  ///< no other user can put another one there
    any,
};

[[nodiscard]] error failed(std::string const& path) {
    return process::path_error("use folder", path, errno, "make it, or name another one");
}

[[nodiscard]] error refused(char const* operation, std::string const& path, char const* why) {
    return {.code = errc::denied, .operation = operation, .subject = std::string_view(path), .remedy = why};
}

/// In a user namespace root may have no number; then the owner of "/" has its place.
[[nodiscard]] bool is_trusted(uid_t owner, uid_t of_root) noexcept {
    return owner == 0 || owner == ::geteuid() || owner == of_root;
}

/// The reason why others than trusted users can change a folder; null: they cannot.
[[nodiscard]] char const* why_untrusted(struct stat const& about, uid_t of_root) noexcept {
    if (!S_ISDIR(about.st_mode)) return not_a_folder;
    if (!is_trusted(about.st_uid, of_root)) return of_others;
    bool const closed = (about.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (about.st_mode & S_ISVTX) != 0;
    return closed ? nullptr : changed_by_others;
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
        char const* const why = rule_ == folder_rule::of_trusted_users ? why_untrusted(about, of_root_) : nullptr;
        if (why != nullptr) return refused("use folder", passed_, why);
        at_ = std::move(next);
        return {};
    }

private:
    [[nodiscard]] result<void> follow(process::descriptor const& link, uid_t owner) {
        std::array<char, PATH_MAX> target;
        auto const length = ::readlinkat(link.get(), "", target.data(), target.size());
        if (length <= 0) return failed(passed_);
        if (!is_trusted(owner, of_root_)) return refused("use folder", passed_, link_of_others);
        if (++links_ > most_links) return process::path_error("use folder", passed_, ELOOP, "");
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
        return process::path_error("open", path, errno, "remove it: ration writes there");
    if (about.st_uid != ::geteuid()) return refused("open", path, file_of_others);
    if (S_ISREG(about.st_mode) && about.st_nlink > 1) return refused("open", path, other_names);
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
    return process::path_error("make folder", path, errno, "remove it: ration makes a folder there");
}

result<process::descriptor> open_private_folder(process::descriptor const& parent, std::string const& name,
                                                std::string const& path, mode_t mode) {
    process::descriptor folder(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    int const failure = errno;
    struct stat about{};
    if (!folder && (failure == ENOTDIR || failure == ELOOP)) {
        bool const is_link =
            ::fstatat(parent.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
        return refused("use folder", path, is_link ? is_a_link : not_a_folder);
    }
    if (!folder || ::fstat(folder.get(), &about) != 0) return failed(path);
    if (about.st_uid != ::geteuid()) return refused("use folder", path, of_others);
    if ((about.st_mode & 0077 & ~mode) != 0) return refused("use folder", path, open_to_others);
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
