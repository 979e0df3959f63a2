// SPDX-License-Identifier: BSL-1.0
#include "run/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include <ration/process/proc.hpp>

namespace ration::program {

namespace {

namespace fs = std::filesystem;

constexpr off_t longest_record = off_t{16} << 20;

[[nodiscard]] error failed(char const* operation, std::string const& path, char const* remedy) {
    return {.code = process::code_of(errno), .operation = operation, .subject = std::string_view(path), .system = errno, .remedy = remedy};
}

/// The folder is ours alone, or made so.
[[nodiscard]] result<void> own(std::string const& path) {
    constexpr char const* remedy = "remove it, or set XDG_RUNTIME_DIR to a folder of your own";
    if (::mkdir(path.c_str(), 0700) == 0) return {};
    struct stat about {};
    if (errno != EEXIST || ::lstat(path.c_str(), &about) != 0) return failed("make folder", path, remedy);
    if (!S_ISDIR(about.st_mode) || about.st_uid != ::geteuid() || (about.st_mode & 0077) != 0)
        return error{.code = errc::denied, .operation = "use folder", .subject = std::string_view(path), .remedy = remedy};
    return {};
}

[[nodiscard]] bool write_and_sync(std::string const& path, std::string_view text) {
    process::descriptor const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0;
}

/// At most so much: `longest_record` and one byte more are too long.
[[nodiscard]] std::string text_of(std::string const& path) {
    process::descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(about.st_size, 0, longest_record + 1)), '\0');
    auto const n = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

/// Numbers of processes are other processes' now, or nobody's, and its clock counts from another moment: that of the run goes on as if no time had passed.
void leave_boot(run_record& run) {
    run.owner = 0, run.owner_start_time = 0;
    run.written_ns = process::now().count;
    for (auto& job : run.jobs) job.pid = 0, job.start_time = 0;
}

/// A record is data from outside: another version may have written it, or half of it. The name then still tells the owner.
[[nodiscard]] abandoned_run read_run(fs::path const& folder) {
    abandoned_run run;
    auto const text = text_of(folder / "run.json");
    run.damage = text.size() > longest_record ? "it is too long" : read_record(text, run.record);
    if (!run.damage.empty()) run.record = {};
    run.record.run = folder.filename().string();
    if (run.record.boot != this_boot()) leave_boot(run.record);
    if (!run.damage.empty()) std::sscanf(run.record.run.c_str(), "%d-%" SCNu64, &run.record.owner, &run.record.owner_start_time);
    return run;
}

}  // namespace

run_directory::~run_directory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::string run_directory::base() {
    char const* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/' && ::access(runtime, W_OK) == 0) return std::string(runtime) + "/ration";
    return fmt::format("/tmp/ration-{}", ::geteuid());
}

result<run_directory> run_directory::create(std::string const& run) {
    if (auto const owned = own(base()); !owned) return owned.failure();
    auto directory = take_over(run);
    if (auto const made = own(directory.path_); !made) return made.failure();
    return directory;
}

run_directory run_directory::take_over(std::string const& run) {
    run_directory directory;
    directory.path_ = base() + '/' + run;
    return directory;
}

result<void> run_directory::save(run_record const& record) const {
    std::string const fresh = path_ + "/run.json.new", path = path_ + "/run.json";
    constexpr char const* remedy = "free some space: without the record a later start cannot find this run's jobs";
    if (!write_and_sync(fresh, to_json(record))) return failed("write", fresh, remedy);
    if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("rename", fresh, remedy);
    process::descriptor const folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) return failed("synchronise", path_, remedy);
    return {};
}

std::vector<abandoned_run> abandoned_runs() {
    std::vector<abandoned_run> found;
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(run_directory::base(), failure)) {
        if (!fs::is_directory(entry.symlink_status(failure))) continue;
        auto run = read_run(entry.path());
        if (run.record.owner <= 0 || !process::same_process(run.record.owner, run.record.owner_start_time)) found.push_back(std::move(run));
    }
    return found;
}

std::string this_boot() {
    process::descriptor const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[36];
    return file && ::read(file.get(), text, sizeof text) == sizeof text ? std::string(text, sizeof text) : std::string();
}

std::string new_run_name() {
    auto const self = process::read_process(::getpid());
    return fmt::format("{}-{}", ::getpid(), self ? self->start_time : 0);
}

}  // namespace ration::program
