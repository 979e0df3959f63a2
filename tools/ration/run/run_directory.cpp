// SPDX-License-Identifier: BSL-1.0
#include "run/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/process/proc.hpp>
#include <ration/progress/token.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"

namespace ration::program {

namespace {

namespace fs = std::filesystem;

constexpr off_t longest_record = off_t{16} << 20;

/// Source: PROC_PID_INIT_INO of linux/proc_ns.h.
constexpr std::uint64_t first_pid_namespace = 0xEFFFFFFC;

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
[[nodiscard]] bool lock_dead(locked_folder const& folder) {
    for (auto const last = process::now() + seconds(10);; ::usleep(2'000)) {
        if (folder.try_lock()) return true;
        if (!owner_is_dead(folder.get()) || process::now() > last) return false;
    }
}

/// The run of a folder; none without a record.
[[nodiscard]] std::optional<present_run> read_present_run(std::string const& path) {
    auto const folder = open_record_folder(path);
    auto const text = folder ? text_of(folder->get(), "run.json") : std::nullopt;
    if (!text) return std::nullopt;
    present_run found;
    found.damage = read_text(*text, found.record);
    if (!found.damage.empty()) found.record = {};
    found.record.run = fs::path(path).filename().string();
    auto const& record = found.record;
    found.alive =
        found.damage.empty() && record.boot == this_boot() &&
        (record.pid_namespace != this_pid_namespace() || process::same_process(record.owner, record.owner_start_time));
    found.state = text_of(folder->get(), "state.json").value_or("");
    return found;
}

[[nodiscard]] bool is_removed(locked_folder const& folder) {
    struct stat about{};
    return ::fstat(folder.get(), &about) != 0 || about.st_nlink == 0;
}

/// The folder for sockets that belongs to a record; empty: none is known.
[[nodiscard]] std::string sockets_of(locked_folder const& record) {
    if (!is_apart(record.path())) return record.path();
    std::array<char, PATH_MAX> target;
    auto const length = ::readlinkat(record.get(), link_to_sockets, target.data(), target.size());
    fs::path const path(std::string_view(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length))));
    bool const is_its = path.is_absolute() && path.filename() == fs::path(record.path()).filename();
    return is_its ? path.string() : std::string();
}

/// Replaces a symbolic link in one step: between two, a kill would leave the folder without its record.
void link(locked_folder const& folder, char const* name, std::string const& target) {
    auto const fresh = std::string(name) + ".new";
    static_cast<void>(::unlinkat(folder.get(), fresh.c_str(), 0));
    if (::symlinkat(target.c_str(), folder.get(), fresh.c_str()) != 0) return;
    static_cast<void>(::renameat(folder.get(), fresh.c_str(), folder.get(), name));
}

}  // namespace

run_directory::run_directory(locked_folder record, std::optional<locked_folder> sockets)
    : record_(std::move(record)), sockets_(std::move(sockets)),
      launches_(process::above_standard(process::descriptor(
          ::openat(record_.get(), "launches", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)))) {
    link_folders();
}

run_directory::run_directory(locked_folder record) : record_(std::move(record)) {
    auto const sockets = sockets_of(record_);
    if (sockets.empty() || sockets == record_.path()) return;
    if (auto folder = open_record_folder(sockets)) sockets_ = std::move(folder).value();
}

/// Only root and this user can change what is in the folders, and the path of that for sockets.
run_directory::~run_directory() {
    if (!removed_at_end_ || record_.get() < 0) return;
    remove_record_folder(record_.path());
    if (sockets_) remove_record_folder(sockets_->path());
}

void run_directory::link_folders() const {
    if (!sockets_) return;
    link(record_, link_to_sockets, sockets_->path());
    link(*sockets_, link_to_record, record_.path());
}

result<run_directory> run_directory::create(std::string const& run, std::string const& parent) {
    auto sockets = make_socket_folder(run);
    if (!sockets) return sockets.failure();
    auto record = parent.empty() ? std::nullopt : std::optional(make_record_folder(parent, run));
    if (record && !*record)
        std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(record->failure())).c_str());
    bool const apart = record && *record;
    auto made = apart ? run_directory(std::move(*record).value(), std::move(sockets).value())
                      : run_directory(std::move(sockets).value(), std::nullopt);
    made.remove_at_end();
    return made;
}

result<run_directory> run_directory::reopen(locked_folder record, std::string const& parent) {
    auto const run = fs::path(record.path()).filename().string(), path = sockets_of(record);
    if (!is_apart(record.path())) {
        auto moved = parent.empty() ? std::nullopt : std::optional(make_record_folder(parent, run));
        if (!moved || !*moved) return run_directory(std::move(record), std::nullopt);
        run_directory out(std::move(*moved).value(), std::move(record));
        out.earlier_ = out.folder();
        return out;
    }
    auto sockets = path.empty() ? make_socket_folder(run) : remake_socket_folder(path);
    if (!sockets) sockets = make_socket_folder(run);
    if (!sockets) return sockets.failure();
    return run_directory(std::move(record), std::move(sockets).value());
}

result<void> run_directory::save(run_record const& record) {
    constexpr char const *fresh = "run.json.new",
                         *remedy = "free some space: without the record a later start cannot find this run's jobs";
    auto const path = record_.path() + "/run.json";
    auto const failed = [&](char const* operation) { return process::path_error(operation, path, errno, remedy); };
    // A loss of power ends all jobs. The list of a service has each of them, so that their record need not survive
    // that; a kill of the service takes nothing that was written
    bool const outlives_machine = !state_folder_of(record.file);
    auto const synchronise = [&](int file) { return !outlives_machine || ::fsync(file) == 0; };
    if (auto const file = write_new(record_.get(), fresh, to_json(record)); !file || !synchronise(file.get()))
        return failed("write");
    if (::renameat(record_.get(), fresh, record_.get(), "run.json") != 0) return failed("replace");
    if (!synchronise(record_.get())) return failed("synchronise");
    remove_earlier();
    restore_sockets();
    return {};
}

/// This record is complete.
void run_directory::remove_earlier() {
    if (std::exchange(earlier_, {}).empty()) return;
    for (auto const* const name : {"run.json", "launches", "state.json"})
        static_cast<void>(::unlinkat(sockets_->get(), name, 0));
}

/// Commands find the record by this folder, which logind or a user may have removed.
void run_directory::restore_sockets() {
    if (!sockets_ || ::access((folder() + '/' + link_to_record).c_str(), F_OK) == 0) return;
    auto again = remake_socket_folder(folder());
    if (!again) return;
    sockets_ = std::move(again).value();
    link_folders();
}

std::vector<abandoned_run> abandoned_runs(std::span<std::string const> parents) {
    std::vector<abandoned_run> found;
    for (auto const& path : find_record_folders(parents)) {
        auto folder = open_record_folder(path);
        if (folder && lock_dead(*folder) && !is_removed(*folder)) found.push_back(read_run(std::move(folder).value()));
    }
    return found;
}

result<void> run_directory::save_state(std::string_view json) const {
    constexpr char const* fresh = "state.json.new";
    if (!write_new(record_.get(), fresh, json) || ::renameat(record_.get(), fresh, record_.get(), "state.json") != 0)
        return process::path_error("write", record_.path() + "/state.json", errno, "free some space");
    return {};
}

std::vector<present_run> present_runs(std::span<std::string const> parents) {
    std::vector<present_run> found;
    for (auto const& path : find_record_folders(parents))
        if (auto run = read_present_run(path)) found.push_back(std::move(*run));
    return found;
}

std::optional<present_run> present_run_named(std::string const& run) {
    auto all = present_runs();
    auto const found = std::ranges::find(all, run, [](present_run const& one) { return one.record.run; });
    return found == all.end() ? std::nullopt : std::optional(std::move(*found));
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
