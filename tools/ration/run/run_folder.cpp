// SPDX-License-Identifier: BSL-1.0
#include "run/run_folder.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "run/kept_run.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr int most_runs_of_a_second = 1000;

[[nodiscard]] error cannot_make(std::string const& folder, int why) {
    return process::system_error("make the folder of the run", folder, why,
                                 "start ration in a folder that you can write to");
}

/// The number of bytes up to the last end of a line.
[[nodiscard]] off_t size_of_whole_lines(process::descriptor const& file) {
    char buffer[4096];
    off_t end = ::lseek(file.get(), 0, SEEK_END);
    while (end > 0) {
        off_t const from = end > off_t{sizeof buffer} ? end - off_t{sizeof buffer} : 0;
        auto const got = ::pread(file.get(), buffer, static_cast<std::size_t>(end - from), from);
        std::string_view const text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
        if (auto const newline = text.rfind('\n'); newline != text.npos) return from + static_cast<off_t>(newline) + 1;
        end = from;
    }
    return 0;
}

}  // namespace

result<std::string> make_run_folder(std::string_view name, std::time_t now) {
    std::error_code failure;
    auto const above = fs::absolute(folder_of_runs, failure).string();
    if (!failure) fs::create_directories(above, failure);
    if (failure) return cannot_make(above, failure.value());
    std::tm local{};
    ::localtime_r(&now, &local);
    auto const first = fmt::format("{}/{:%Y%m%d-%H%M%S}-{}", above, local, name);
    for (int number = 1;; ++number) {
        auto const path = number == 1 ? first : fmt::format("{}-{}", first, number);
        if (::mkdir(path.c_str(), 0777) == 0) return path;
        if (errno != EEXIST || number == most_runs_of_a_second) return cannot_make(path, errno);
    }
}

result<void> point_latest_to(std::string const& folder) {
    constexpr char const* remedy = "remove it, so that ration can link the newest run there";
    fs::path const target(folder);
    auto const link = (target.parent_path() / latest_run).string();
    auto const fresh = folder + ".latest";
    struct stat about{};
    if (::lstat(link.c_str(), &about) == 0 && !S_ISLNK(about.st_mode))
        return {{.code = errc::already_exists,
                 .operation = "replace the link",
                 .subject = std::string_view(link),
                 .remedy = remedy}};
    if (::symlink(target.filename().c_str(), fresh.c_str()) != 0 || ::rename(fresh.c_str(), link.c_str()) != 0) {
        auto const why = process::system_error("replace the link", link, errno, remedy);
        ::unlink(fresh.c_str());
        return why;
    }
    return {};
}

result<void> replace_private_file(std::string const& path, std::string_view text) {
    auto const fresh = path + ".new";
    process::descriptor const file(
        ::openat(AT_FDCWD, fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::rename(fresh.c_str(), path.c_str()) == 0)
        return {};
    return process::system_error("write", path, errno, "free some space, or make its folder writable");
}

result<process::descriptor> open_private_log(std::string const& path) {
    if (auto const earlier = process::open_input(path, {}))
        static_cast<void>(!::truncate(path.c_str(), size_of_whole_lines(*earlier)));
    process::descriptor file(
        ::openat(AT_FDCWD, path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!file) return process::system_error("open for writing", path, errno, "remove it");
    return file;
}

std::string run_folder_named(std::string const& word) {
    if (word.find('/') != word.npos) return word;
    std::string const above(folder_of_runs);
    std::error_code failure;
    auto const target = fs::read_symlink(above + '/' + word, failure).string();
    return above + '/' + (failure || target.find('/') != target.npos ? word : target);
}

result<std::string, diagnostic> event_log_named(std::string const& word) {
    std::error_code ignored;
    auto const folder = run_folder_named(word);
    bool const is_file = fs::exists(word, ignored) && !fs::is_directory(word, ignored);
    if (is_file || (word != latest_run && !fs::exists(summary_in(folder), ignored))) return word;
    auto const run = load_kept_run(folder);
    if (!run) return run.failure();
    if (run->log.empty()) return folder + "/events.jsonl";
    return diagnostic{
        .text = fmt::format("{}: the events of this run were written to {}; name that file", folder, run->log)};
}

}  // namespace ration::program
