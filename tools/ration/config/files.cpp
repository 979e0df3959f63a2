// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/data_file.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "config/config.hpp"

namespace ration::program {

namespace {

[[nodiscard]] bool is_directory(std::string const& path) noexcept {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

[[nodiscard]] bool is_program(std::string const& path) noexcept {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

[[nodiscard]] std::string search_path(job_config const& job) {
    auto const own =
        std::ranges::find(job.environment, std::string("PATH"), &std::pair<std::string, std::string>::first);
    if (own != job.environment.end()) return own->second;
    char const* const ours = std::getenv("PATH");
    return ours == nullptr ? "/usr/local/bin:/usr/bin:/bin" : ours;
}

[[nodiscard]] bool is_on_path(job_config const& job, std::string const& program) {
    std::string const path = search_path(job);
    for (std::size_t begin = 0; begin <= path.size();) {
        std::size_t const end = std::min(path.find(':', begin), path.size());
        std::string const directory = end == begin ? "." : path.substr(begin, end - begin);
        if (is_program(job.from_here(directory + '/' + program))) return true;
        begin = end + 1;
    }
    return false;
}

void check_program(job_config const& job, diagnostics& out) {
    auto const& program = job.command.front();
    bool const has_path = program.find('/') != std::string::npos;
    if (has_path && !is_program(job.from_here(program)))
        out.add(job.command_at, "the program " + quoted(program) +
                                    " does not exist or is not executable; build it or correct the path, "
                                    "which is relative to the job's directory");
    else if (!has_path && !is_on_path(job, program))
        out.add(job.command_at,
                "no directory of PATH has a program " + quoted(program) + "; install it or write its path");
}

void check_reads(job_config const& job, diagnostics& out) {
    for (auto const& path : job.reads)
        if (auto const opened = process::open_data_file(
                job.from_here(path), "correct the path in 'reads', which is relative to the job's directory");
            !opened)
            out.add(job.reads_at, quoted(path) + ' ' + process::input_sentence(opened.failure()));
}

}  // namespace

diagnostics missing_files(run_config const& config) {
    diagnostics out(config.file);
    for (auto const& job : config.jobs) {
        if (!job.directory.empty() && !is_directory(job.directory)) {
            out.add(job.directory_at, "the directory " + quoted(job.directory) +
                                          " does not exist; create it or correct the path, "
                                          "which is relative to where ration was started");
            continue;
        }
        check_program(job, out);
        check_reads(job, out);
    }
    return out;
}

std::vector<job_remark> shared_metric_files(run_config const& config) {
    std::vector<job_remark> out;
    std::map<std::filesystem::path, std::string> first;  // the job that follows these files
    for (auto const& job : config.jobs) {
        if (!job.metrics) continue;
        auto const& files = job.metrics->path;
        auto const [found, is_new] =
            first.emplace(std::filesystem::path(job.from_here(files)).lexically_normal(), job.name);
        if (is_new) continue;
        out.push_back({job.name, "it follows the same 'metrics' as " + quoted(found->second) + ", " + quoted(files) +
                                     ", so each job may be judged by the metrics of the other; give each job a file or "
                                     "a separate directory"});
    }
    return out;
}

}  // namespace ration::program
