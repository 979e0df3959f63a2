// SPDX-License-Identifier: BSL-1.0
#include "run/linked_copy.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_files = 10'000;
constexpr int deepest = 16;

[[nodiscard]] error failed(char const* operation, fs::path const& path, std::error_code const& why) {
    return {.code = errc::io,
            .operation = operation,
            .subject = std::string_view(path.native()),
            .system = why.value(),
            .remedy = "free some space, and let this user write there"};
}

/// Recursive, so that a depth can be counted.
class copier {
    std::uint64_t files_ = 0;

public:
    [[nodiscard]] std::uint64_t files() const noexcept { return files_; }

    [[nodiscard]] result<void> copy(fs::path const& from, fs::path const& to, int depth = 0) {
        std::error_code why;
        fs::create_directory(to, why);
        if (why) return failed("make folder", to, why);
        for (fs::directory_iterator at(from, why), end; !why && at != end; at.increment(why)) {
            auto const target = to / at->path().filename();
            auto const kind = at->symlink_status(why).type();
            if (kind != fs::file_type::regular && kind != fs::file_type::directory) continue;
            if (files_ == most_files || depth == deepest)
                return error{.code = errc::limit,
                             .operation = "copy",
                             .subject = std::string_view(from.native()),
                             .system = 0,
                             .remedy = "keep at most 10000 files, 16 folders deep, in a checkpoint"};
            auto const done =
                kind == fs::file_type::regular ? link(at->path(), target) : copy(at->path(), target, depth + 1);
            if (!done) return done;
        }
        return why ? result<void>(failed("list", from, why)) : result<void>();
    }

private:
    [[nodiscard]] result<void> link(fs::path const& from, fs::path const& to) {
        std::error_code why;
        fs::create_hard_link(from, to, why);
        if (why == std::errc::cross_device_link || why == std::errc::operation_not_permitted ||
            why == std::errc::too_many_links)
            fs::copy_file(from, to, why);
        if (why) return failed("link", from, why);
        ++files_;
        return {};
    }
};

/// `to` becomes what `fresh` was. What `to` was is in `fresh` then, or nowhere.
[[nodiscard]] bool put_in_place(fs::path const& fresh, fs::path const& to) {
    if (::syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return true;
    std::error_code ignored;
    if (errno != ENOENT) fs::remove_all(to, ignored);  // a file system without exchange
    return ::rename(fresh.c_str(), to.c_str()) == 0;
}

}  // namespace

result<std::uint64_t> make_linked_copy(std::string const& from, std::string const& to) {
    fs::path const fresh = to + ".new";
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    copier files;
    auto done = files.copy(from, fresh);
    if (done && files.files() == 0)
        done = error{.code = errc::not_found,
                     .operation = "find a checkpoint",
                     .subject = std::string_view(from),
                     .system = 0,
                     .remedy = "the job has to save into the folder RATION_CHECKPOINT"};
    if (done && !put_in_place(fresh, to)) done = failed("rename", fresh, {errno, std::generic_category()});
    fs::remove_all(fresh, ignored);
    if (!done) return done.failure();
    return files.files();
}

}  // namespace ration::program
