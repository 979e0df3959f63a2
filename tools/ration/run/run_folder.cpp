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
#include "run/private_folder.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr int most_runs_of_a_second = 1000;

[[nodiscard]] error cannot_make(std::string const& folder, int why) {
    return process::path_error("make the folder of the run", folder, why,
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
    if (failure) return cannot_make(above, failure.value());
    if (auto const made = make_own_folder(above); !made && made.failure().system != EEXIST)
        return cannot_make(above, made.failure().system);
    std::tm local{};
    ::localtime_r(&now, &local);
    auto const first = fmt::format("{}/{:%Y%m%d-%H%M%S}-{}", above, local, name);
    for (int number = 1;; ++number) {
        auto const path = number == 1 ? first : fmt::format("{}-{}", first, number);
        auto const made = make_own_folder(path);
        if (made) return path;
        if (made.failure().code == errc::denied) return made.failure();
        if (made.failure().system != EEXIST || number == most_runs_of_a_second)
            return cannot_make(made.failure().system == ENOTDIR ? above : path, made.failure().system);
    }
}

result<void> point_latest_to(std::string const& folder) {
    constexpr char const* remedy = "remove it, so that ration can link the newest run there";
    fs::path const target(folder);
    auto const link = (target.parent_path() / latest_run).string();
    std::string const name(latest_run), fresh = target.filename().string() + ".latest";
    auto const above = open_folder_of(folder);
    if (!above) return above.failure();
    struct stat about{};
    if (::fstatat(above->get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(about.st_mode))
        return {{.code = errc::already_exists,
                 .operation = "replace the link",
                 .subject = std::string_view(link),
                 .remedy = remedy}};
    if (::symlinkat(target.filename().c_str(), above->get(), fresh.c_str()) != 0 ||
        ::renameat(above->get(), fresh.c_str(), above->get(), name.c_str()) != 0) {
        auto const why = process::path_error("replace the link", link, errno, remedy);
        ::unlinkat(above->get(), fresh.c_str(), 0);
        return why;
    }
    return {};
}

result<void> replace_private_file(std::string const& path, std::string_view text) {
    auto const fresh = path + ".new";
    auto const above = open_folder_of(path);
    if (!above) return above.failure();
    auto const file = open_own_file(fresh, O_WRONLY | O_CREAT);
    if (!file) return file.failure();
    if (::ftruncate(file->get(), 0) == 0 &&
        ::write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::renameat(above->get(), fs::path(fresh).filename().c_str(), above->get(), fs::path(path).filename().c_str()) ==
            0)
        return {};
    return process::path_error("write", path, errno, "free some space, or make its folder writable");
}

result<process::descriptor> open_private_log(std::string const& path) {
    auto file = open_own_file(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK);
    if (!file) return file;
    if (auto const earlier = process::open_input(fmt::format("/proc/self/fd/{}", file->get()), {}))
        static_cast<void>(!::ftruncate(file->get(), size_of_whole_lines(*earlier)));
    return file;
}

result<process::descriptor> open_job_output(std::string const& path) {
    auto file = open_own_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK, 0644);
    if (file) ::fcntl(file->get(), F_SETFL, O_APPEND);  // a pipe without a reader fails instead of blocking
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
