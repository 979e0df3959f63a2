// SPDX-License-Identifier: BSL-1.0
#include "serve/definition.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <ration/process/environment.hpp>

#include "config/document.hpp"
#include "serve/exit_recorder.hpp"
#include "serve/users.hpp"

namespace ration::program {
namespace {

/// The label of the job in whose environment the command ran.
[[nodiscard]] std::string submitter_of(submission const& what) {
    static constexpr std::string_view name = "RATION_JOB=";
    auto const entry = std::ranges::find_if(what.environment, [](auto const& e) { return e.starts_with(name); });
    return entry == what.environment.end() ? std::string() : entry->substr(name.size());
}

}  // namespace

std::optional<std::int64_t> array_index_of(submission const& what) {
    auto const entry = std::ranges::find_if(what.environment, [](auto const& e) { return e.starts_with(array_index); });
    if (entry == what.environment.end()) return std::nullopt;
    auto const* const end = entry->data() + entry->size();
    std::int64_t index = 0;
    auto const read = std::from_chars(entry->data() + array_index.size(), end, index);
    return read.ec == std::errc() && read.ptr == end ? std::optional(index) : std::nullopt;
}

parsed_config read_definition(std::string const& text) {
    auto read = parse_config(text, "submission", {.policies = {}, .policy_given = true});
    auto& problems = read.problems;
    if (!problems.empty()) return read;
    auto const& jobs = read.config.jobs;
    if (jobs.size() != 1) {
        problems.add(jobs[1].where, "a submission has one job; submit each job alone");
        return read;
    }
    auto const& job = jobs.front();
    if (job.name.size() > longest_submitted_name)
        problems.add(job.name_at, "the name has more than 36 characters; choose a shorter one");
    if (!job.preload.empty())
        problems.add(job.preload_at, "'preload' is for the jobs of ration run; leave it out of a submission");
    if (job.at.count != 0) problems.add(job.where, "a submitted job starts as soon as it can; leave out 'at'");
    return read;
}

std::vector<std::string> unused_keys(std::string_view text) {
    std::vector<std::string> unused;
    if (auto const document = parse_document(text))
        for (auto const& one : *document)
            if (one.key != "job") unused.push_back(one.key);
    return unused;
}

std::shared_ptr<job_config> described_job(stored_job const& stored) {
    auto read = read_definition(stored.what.definition);
    if (!read.problems.empty()) return nullptr;
    auto job = std::make_shared<job_config>(std::move(read.config.jobs.front()));
    job->phase_class = stored.what.name;
    job->name = label_of(stored.what.name, stored.id);
    job->tenant = stored.what.tenant;
    job->priority = stored.what.priority;
    if (job->directory.empty())
        job->directory = stored.what.directory;
    else if (!job->directory.starts_with('/'))
        job->directory = stored.what.directory + '/' + job->directory;
    if (auto& elastic = job->elastic; elastic && !elastic->checkpoint.empty())
        elastic->checkpoint =
            (std::filesystem::path(stored.what.directory) / elastic->checkpoint).lexically_normal().string();
    if (!stored.what.command.empty()) job->command = stored.what.command;
    if (stored.what.umask) job->umask = static_cast<mode_t>(*stored.what.umask);
    job->submitter = submitter_of(stored.what);
    auto own = std::exchange(job->environment, {});
    // The submitter may be a job, whose devices and threads are not those of this one
    auto const chosen = process::without_listed(stored.what.environment, process::chosen_entries);
    for (auto const& entry : process::without_listed(chosen, process::mask_entries)) {
        auto const end = entry.find('=');
        if (end == entry.npos || end == 0 || entry.starts_with("RATION_")) continue;
        job->environment.emplace_back(entry.substr(0, end), entry.substr(end + 1));
    }
    std::ranges::move(own, std::back_inserter(job->environment));
    return job;
}

std::optional<process::exit_report> recorded_end_of(stored_job const& job, service_folder const& folder) {
    auto const user = folder.rights_of(job.what.uid);
    process::file_rights const rights(user ? &*user : nullptr);
    return recorded_end(folder.end_of(job.what.uid, label_of(job.what.name, job.id), job.incarnation));
}

void remove_end_of(stored_job const& job, service_folder const& folder) {
    auto const user = folder.rights_of(job.what.uid);
    process::file_rights const rights(user ? &*user : nullptr);
    ::unlink(folder.end_of(job.what.uid, label_of(job.what.name, job.id), job.incarnation).c_str());
}

std::string checkpoint_of(job_config const& job, std::int64_t uid, service_folder const& folder) {
    bool const own = job.elastic && !job.elastic->checkpoint.empty();
    return own ? job.elastic->checkpoint : folder.checkpoint_of(uid, job.name);
}

bool has_checkpoint(stored_job const& job, service_folder const& folder) {
    namespace fs = std::filesystem;
    std::error_code failure;
    auto const user = folder.rights_of(job.what.uid);
    process::file_rights const rights(user ? &*user : nullptr);
    auto const config = described_job(job);
    auto const label = label_of(job.what.name, job.id);
    auto const path =
        config != nullptr ? checkpoint_of(*config, job.what.uid, folder) : folder.checkpoint_of(job.what.uid, label);
    return fs::is_directory(path, failure) && !fs::is_empty(path, failure) && !failure;
}

std::shared_ptr<job_config> job_of(stored_job const& stored, service_folder const& folder, std::int64_t incarnation,
                                   nanoseconds at) {
    auto job = described_job(stored);
    if (job == nullptr) return nullptr;
    job->at = at;
    // A launch that ends is not yet the end of the job: see end_hooks.hpp
    for (auto const what : {hook::end, hook::failure}) job->hooks[static_cast<std::size_t>(what)].clear();
    auto const& label = job->name;
    auto const uid = stored.what.uid;
    if (folder.is_other_user(uid)) job->owner = owner_of(uid, folder);
    if (folder.is_other_user(uid) && !job->owner) return nullptr;
    std::vector<std::string> command{"/proc/self/exe", std::string(exit_recorder_word),
                                     folder.end_of(uid, label, incarnation), checkpoint_of(*job, uid, folder),
                                     folder.log_of(uid, label)};
    job->array_index = array_index_of(stored.what);
    for (auto const& entry : stored.what.environment)
        if (entry.starts_with(array_index)) command.push_back(entry);
    std::ranges::move(job->command, std::back_inserter(command));
    job->command = std::move(command);
    return job;
}

}  // namespace ration::program
