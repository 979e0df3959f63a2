// SPDX-License-Identifier: BSL-1.0
#include "run/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <ration/process/proc.hpp>
#include <ration/progress/token.hpp>

#include "run/private_folder.hpp"

namespace ration::program {

namespace {

namespace fs = std::filesystem;

constexpr off_t longest_record = off_t{16} << 20;

/// Source: PROC_PID_INIT_INO of linux/proc_ns.h.
constexpr std::uint64_t first_pid_namespace = 0xEFFFFFFC;

[[nodiscard]] bool is_own_folder(char const* path) {
    struct stat about{};
    return *path == '/' && ::stat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
           ::access(path, W_OK) == 0;
}

/// The folder above the one of all runs, and the name of that one.
[[nodiscard]] std::pair<std::string, std::string> place_of_runs() {
    char const* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && is_own_folder(runtime)) return {runtime, "ration"};
    return {"/tmp", fmt::format("ration-{}", ::geteuid())};
}

[[nodiscard]] result<process::descriptor> open_unlocked_base(bool make) {
    auto const [above, name] = place_of_runs();
    auto const parent = open_trusted_folder(above);
    if (!parent) return parent.failure();
    return make ? make_private_folder(*parent, name, run_directory::base())
                : open_private_folder(*parent, name, run_directory::base());
}

/// Locked, so that a folder that is being made has its own lock before another process sees it.
[[nodiscard]] result<process::descriptor> open_base(bool make) {
    auto base = open_unlocked_base(make);
    if (base && ::flock(base->get(), LOCK_EX) != 0)
        return process::system_error("lock", run_directory::base(), errno,
                                     "set XDG_RUNTIME_DIR to a folder on a local file system");
    return base;
}

/// The new file; none if it cannot be written.
[[nodiscard]] process::descriptor write_new(int folder, char const* name, std::string_view text) {
    process::descriptor file(::openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file && ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) file.reset();
    return file;
}

/// At most `longest_record` and one byte more, which shows that it is too long. Nothing if the file does not exist.
[[nodiscard]] std::optional<std::string> text_of(int folder, char const* name) {
    process::descriptor const file(::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::nullopt;
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(about.st_size, 0, longest_record + 1)), '\0');
    auto const n = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

/// The numbers of processes now belong to other processes, or are unused.
void forget_processes(run_record& run) {
    run.owner = 0;
    run.owner_start_time = 0;
    for (auto& job : run.jobs) {
        job.pid = 0;
        job.start_time = 0;
    }
}

/// Why the text of a record cannot be read, as a sentence; empty: it can.
[[nodiscard]] std::string read_text(std::string const& text, run_record& into) {
    return text.size() > longest_record ? "it is too long" : read_record(text, into);
}

/// A record is data from outside: another version may have written it, or half of it.
[[nodiscard]] abandoned_run read_run(locked_folder folder) {
    abandoned_run run{.record = {}, .damage = {}, .launches = {}, .folder = std::move(folder)};
    auto const text = text_of(run.folder.get(), "run.json");
    run.unwritten = !text;
    run.damage = text ? read_text(*text, run.record) : "it is missing";
    if (!run.damage.empty()) run.record = {};
    run.record.run = fs::path(run.folder.path()).filename().string();
    std::istringstream tokens(text_of(run.folder.get(), "launches").value_or(""));
    for (std::string token; tokens >> token;) run.launches.insert(token);
    // Its clock continues as if no time had passed
    if (run.record.boot != this_boot()) run.record.written_ns = process::now().count;
    if (run.record.boot != this_boot() || run.record.pid_namespace != this_pid_namespace())
        forget_processes(run.record);
    return run;
}

/// As far as can be seen from here.
[[nodiscard]] bool owner_is_dead(int folder) {
    run_record record;
    auto const text = text_of(folder, "run.json");
    if (!text || !read_record(*text, record).empty()) return false;
    bool const here = record.boot == this_boot() && record.pid_namespace == this_pid_namespace();
    return here && !process::same_process(record.owner, record.owner_start_time);
}

/// False while the run lives. A launch that was cut short keeps the lock of its dead owner until its program starts, or
/// it ends.
[[nodiscard]] bool lock_dead(process::descriptor const& folder) {
    for (auto const last = process::now() + seconds(10);; ::usleep(2'000)) {
        if (try_lock(folder)) return true;
        if (!owner_is_dead(folder.get()) || process::now() > last) return false;
    }
}

/// The run of a folder below the base; none without a record.
[[nodiscard]] std::optional<present_run> read_present_run(process::descriptor const& base, std::string const& run) {
    auto const folder = open_private_folder(base, run, run_directory::base() + '/' + run);
    auto const text = folder ? text_of(folder->get(), "run.json") : std::nullopt;
    if (!text) return std::nullopt;
    present_run found;
    found.damage = read_text(*text, found.record);
    if (!found.damage.empty()) found.record = {};
    found.record.run = run;
    auto const& record = found.record;
    found.alive =
        found.damage.empty() && record.boot == this_boot() &&
        (record.pid_namespace != this_pid_namespace() || process::same_process(record.owner, record.owner_start_time));
    found.state = text_of(folder->get(), "state.json").value_or("");
    return found;
}

[[nodiscard]] bool is_removed(process::descriptor const& folder) {
    struct stat about{};
    return ::fstat(folder.get(), &about) != 0 || about.st_nlink == 0;
}

}  // namespace

run_directory::run_directory(locked_folder folder) : folder_(std::move(folder)) {
    launches_ = process::above_standard(process::descriptor(
        ::openat(folder_.get(), "launches", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
}

/// Only root and this user can change the path, which was checked when the folder was opened.
run_directory::~run_directory() {
    std::error_code ignored;
    if (removed_at_end_ && folder_.get() >= 0) fs::remove_all(folder_.path(), ignored);
}

std::string run_directory::base() {
    auto const [above, name] = place_of_runs();
    return above + '/' + name;
}

result<run_directory> run_directory::create(std::string const& run) {
    auto const base_folder = open_base(true);
    if (!base_folder) return base_folder.failure();
    std::string const path = base() + '/' + run;
    auto folder = make_private_folder(*base_folder, run, path);
    if (!folder) return folder.failure();
    if (!try_lock(*folder))
        return process::system_error("lock", path, errno, "set XDG_RUNTIME_DIR to a folder on a local file system");
    run_directory made(locked_folder(path, std::move(folder).value()));
    made.remove_at_end();
    return made;
}

result<void> run_directory::save(run_record const& record) const {
    constexpr char const *fresh = "run.json.new",
                         *remedy = "free some space: without the record a later start cannot find this run's jobs";
    auto const failed = [&](char const* operation) {
        return process::system_error(operation, folder() + "/run.json", errno, remedy);
    };
    if (auto const file = write_new(folder_.get(), fresh, to_json(record)); !file || ::fsync(file.get()) != 0)
        return failed("write");
    if (::renameat(folder_.get(), fresh, folder_.get(), "run.json") != 0) return failed("replace");
    return ::fsync(folder_.get()) == 0 ? result<void>() : failed("synchronise");
}

result<std::vector<abandoned_run>> abandoned_runs() {
    std::vector<abandoned_run> found;
    auto const base = open_base(false);
    if (!base && base.failure().code == errc::not_found) return found;
    if (!base) return base.failure();
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(run_directory::base(), failure)) {
        auto folder = open_private_folder(*base, entry.path().filename().string(), entry.path().string());
        if (folder && lock_dead(*folder) && !is_removed(*folder))
            found.push_back(read_run({entry.path().string(), std::move(folder).value()}));
    }
    return found;
}

result<void> run_directory::save_state(std::string_view json) const {
    constexpr char const* fresh = "state.json.new";
    if (!write_new(folder_.get(), fresh, json) || ::renameat(folder_.get(), fresh, folder_.get(), "state.json") != 0)
        return process::system_error("write", folder() + "/state.json", errno, "free some space");
    return {};
}

result<std::vector<present_run>> present_runs() {
    std::vector<present_run> found;
    auto const base = open_unlocked_base(false);
    if (!base && base.failure().code == errc::not_found) return found;
    if (!base) return base.failure();
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(run_directory::base(), failure))
        if (auto run = read_present_run(*base, entry.path().filename().string())) found.push_back(std::move(*run));
    return found;
}

result<std::optional<present_run>> present_run_named(std::string const& run) {
    auto const base = open_unlocked_base(false);
    if (!base && base.failure().code == errc::not_found) return std::optional<present_run>();
    if (!base) return base.failure();
    return read_present_run(*base, run);
}

std::string this_boot() {
    process::descriptor const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[36];
    return file && ::read(file.get(), text, sizeof text) == sizeof text ? std::string(text, sizeof text)
                                                                        : std::string();
}

std::uint64_t this_pid_namespace() {
    struct stat about{};
    return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

bool sees_all_processes() { return this_pid_namespace() == first_pid_namespace; }

result<std::string> new_run_name() {
    auto const token = progress::random_token();
    if (!token) return token.failure();
    return fmt::format("{}-{}", ::getpid(), token->view());
}

}  // namespace ration::program
