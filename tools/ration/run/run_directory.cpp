// SPDX-License-Identifier: BSL-1.0
#include "run/run_directory.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ration/process/proc.hpp>

namespace ration::program {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(recorded_job, name, id, pid, start_time, epoch, token, started_ns, tier, phase, holds, next, origin, wanted,
                                   batch, launched_batch, falls_back, returning, has_saved, finishing, cost, control, checkpoint, how, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_record, run, owner, owner_start_time, file, policy, memberships, began_ns, jobs)

namespace {

namespace fs = std::filesystem;

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

[[nodiscard]] std::string text_of(fs::path const& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// A record is data from outside: another version may have written it, or half of it. The name then still tells the owner.
[[nodiscard]] run_record read_record(fs::path const& folder) {
    run_record record;
    auto const json = nlohmann::json::parse(text_of(folder / "run.json"), nullptr, false);
    try {
        if (!json.is_discarded()) record = json.get<run_record>();
    } catch (nlohmann::json::exception const&) {
        record = {};
    }
    record.run = folder.filename().string();
    if (record.owner == 0) std::sscanf(record.run.c_str(), "%d-%" SCNu64, &record.owner, &record.owner_start_time);
    return record;
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
    if (!write_and_sync(fresh, nlohmann::json(record).dump())) return failed("write", fresh, remedy);
    if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("rename", fresh, remedy);
    process::descriptor const folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) return failed("synchronise", path_, remedy);
    return {};
}

std::vector<run_record> abandoned_runs() {
    std::vector<run_record> found;
    std::error_code failure;
    for (auto const& entry : fs::directory_iterator(run_directory::base(), failure)) {
        auto record = read_record(entry.path());
        if (record.owner == 0 || !process::same_process(record.owner, record.owner_start_time)) found.push_back(std::move(record));
    }
    return found;
}

std::string new_run_name() {
    auto const self = process::read_process(::getpid());
    return fmt::format("{}-{}", ::getpid(), self ? self->start_time : 0);
}

}  // namespace ration::program
