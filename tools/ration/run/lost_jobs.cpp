// SPDX-License-Identifier: BSL-1.0
#include "run/lost_jobs.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <ration/process/environment.hpp>
#include <ration/process/input_file.hpp>
#include <ration/process/marked.hpp>

#include "run/record_folder.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// The name of the run whose socket a process was given; empty: it is not one of a run.
[[nodiscard]] std::string run_of(pid_t pid) {
    auto const address = process::detail::value_in(process::detail::read_environment(pid), "RATION_PROGRESS");
    if (!address) return {};
    fs::path const path(*address);
    return path.filename() == "progress" ? path.parent_path().filename().string() : std::string();
}

[[nodiscard]] bool works_in(pid_t pid, std::string const& folder) {
    std::error_code failure;
    return fs::equivalent(fmt::format("/proc/{}/cwd", pid), folder.empty() ? "." : folder, failure);
}

[[nodiscard]] bool belongs_to(pid_t pid, uid_t user) noexcept {
    struct stat about{};
    return ::stat(fmt::format("/proc/{}", pid).c_str(), &about) == 0 && about.st_uid == user;
}

/// Whether another process has a lock of the file, or may have one. NFS does not lock what is only read, which counts
/// as locked.
[[nodiscard]] bool is_locked(fs::path const& path) {
    auto const file = process::open_input(path.string(), {});
    return !file || ::flock(file->get(), LOCK_EX | LOCK_NB) != 0;
}

/// The folders with the output of the jobs: a service of root has one for each user.
[[nodiscard]] std::vector<fs::path> output_folders(run_record const& record) {
    std::vector<fs::path> folders{record.output};
    std::error_code failure;
    if (auto const state = state_folder_of(record.file))
        for (auto const& user : fs::directory_iterator(*state + "/users", failure)) folders.push_back(user.path());
    return folders;
}

[[nodiscard]] bool is_output_of(fs::path const& file, std::string const& job) {
    auto const name = file.filename().string();
    return name.starts_with(job) && name.ends_with(".log");
}

}  // namespace

result<std::string> find_lost_jobs(run_config const& config) {
    auto const marked = process::find_with_entry("RATION_JOB");
    if (!marked) return marked.failure();
    std::set<std::string> known;
    for (auto const& folder : find_record_folders()) known.insert(fs::path(folder).filename().string());
    std::string found;
    for (auto const& one : *marked) {
        auto const job = std::ranges::find(config.jobs, one.value, &job_config::name);
        if (job == config.jobs.end() || !works_in(one.info.pid, job->directory)) continue;
        auto const run = run_of(one.info.pid);
        if (run.empty() || known.contains(run)) continue;
        found += fmt::format("{}{} (process {})", found.empty() ? "" : ", ", one.value, one.info.pid);
    }
    return found;
}

result<std::string> end_lost_job(std::string_view output, uid_t user) {
    auto const marked = process::find_with_entry("RATION_OUTPUT");
    if (!marked) return marked.failure();
    std::set<std::string> tokens;
    std::vector<pid_t> pids;
    for (auto const& one : *marked) {
        if (one.value != output || !belongs_to(one.info.pid, user)) continue;
        auto const token = process::detail::value_in(process::detail::read_environment(one.info.pid), "RATION_TOKEN");
        if (!token) continue;
        tokens.insert(*token);
        pids.push_back(one.info.pid);
    }
    for (auto const& token : tokens)
        if (auto const ended = process::kill_marked(process::mark_of(token)); !ended) return ended.failure();
    return fmt::format("{}", fmt::join(pids, ", "));
}

bool has_open_output(run_record const& record) {
    auto const folders = output_folders(record);
    return std::ranges::any_of(record.jobs, [&](recorded_job const& job) {
        if (job.is_over() || job.token.empty()) return false;
        bool found = false, locked = false;
        for (auto const& folder : folders) {
            std::error_code failure;
            for (auto const& entry : fs::directory_iterator(folder, failure))
                if (is_output_of(entry.path(), job.name)) {
                    found = true;
                    locked = locked || is_locked(entry.path());
                }
        }
        return locked || !found;
    });
}

}  // namespace ration::program
