// SPDX-License-Identifier: BSL-1.0
#include "serve/list_findings.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <system_error>

#include "common/printable.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// Jobs can write any name into the folders. A larger number in a name is not that of a job.
constexpr std::int64_t largest_number = 1'000'000'000;

/// Of "vae-17.log", "vae-17.checkpoint" or "vae-17.2.end"; 0: the name is not that of a job's file.
[[nodiscard]] std::int64_t number_in_name(std::string_view name) {
    auto const dash = name.rfind('-');
    if (dash == name.npos) return 0;
    std::int64_t number = 0;
    auto const* const end = name.data() + name.size();
    auto const read = std::from_chars(name.data() + dash + 1, end, number);
    bool const valid = read.ec == std::errc() && read.ptr != end && *read.ptr == '.' && number > 0;
    return valid && number <= largest_number ? number : 0;
}

template <class Visit>
void for_each_name(std::string const& folder, Visit visit) {
    std::error_code failure;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
        visit(at->path().filename().native());
}

}  // namespace

job_files find_job_files(service_folder const& folder) {
    std::set<std::int64_t> jobs;
    job_files out;
    auto const look_at = [&](std::string const& name) {
        auto const number = number_in_name(name);
        if (number != 0 && name.ends_with(".end")) ++out.ends;
        if (number != 0) jobs.insert(number);
    };
    for_each_name(folder.output(), look_at);
    if (folder.of_root)
        for_each_name(folder.users(),
                      [&](std::string const& uid) { for_each_name(folder.users() + '/' + uid, look_at); });
    out.jobs = std::ssize(jobs);
    for_each_name(folder.ends(), [&](std::string const& name) {
        auto const number = number_in_name(name);
        if (number == 0) return;
        ++out.ends;
        jobs.insert(number);
    });
    if (!jobs.empty()) out.highest = *jobs.rbegin();
    return out;
}

std::string text_of(job_files const& files) {
    return fmt::format("jobs/ has the files of {} job{}, up to number {}, and ends/ has {} end{}", files.jobs,
                       files.jobs == 1 ? "" : "s", files.highest, files.ends, files.ends == 1 ? "" : "s");
}

result<std::vector<std::string>> findings(job_store& store, service_folder const& folder, job_files const& files) {
    std::vector<std::string> out;
    auto const& lost = store.lost();
    auto const file = folder.database();
    if (lost.is_new && (files.highest > 0 || lost.of_backup > 0 || lost.changes > 0))
        out.push_back(
            fmt::format("{}: it was missing or empty, so that the list is new, while {}; to use the backup, "
                        "end the service and put it in place",
                        file, text_of(files)));
    else if (lost.changes > 0)
        out.push_back(
            fmt::format("{}: {} confirmed change{} of jobs are missing, as after the loss of its file -wal, "
                        "while {}; compare the jobs with these files, and submit missing ones again",
                        file, lost.changes, lost.changes == 1 ? "" : "s", text_of(files)));
    if (lost.of_backup > 0)
        out.push_back(
            fmt::format("{}.backup: it has {} job{} that the list lacks, and is kept; end the service and "
                        "put it in place of the list, or remove it",
                        file, lost.of_backup, lost.of_backup == 1 ? "" : "s"));
    auto const unreadable = store.unreadable();
    if (!unreadable) return unreadable.failure();
    for (auto const& job : *unreadable) out.push_back(sentence_on(job));
    return out;
}

std::string sentence_on(unreadable_job const& job) {
    return fmt::format("job {}: its stage {} is unknown; use the version of ration that has written it",
                       label_of(job.name, job.id), quoted(job.stage));
}

}  // namespace ration::program
