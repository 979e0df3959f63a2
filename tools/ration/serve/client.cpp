// SPDX-License-Identifier: BSL-1.0
#include "serve/client.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "events/json_reader.hpp"
#include "serve/api.hpp"
#include "serve/daemon.hpp"
#include "serve/job_reader.hpp"
#include "serve/job_words.hpp"
#include "serve/service_call.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string age_text(std::int64_t since_ms) {
    auto const now = wall_clock_ms();
    return duration_text(milliseconds(now - std::clamp<std::int64_t>(since_ms, 0, now)));
}

[[nodiscard]] std::string stage_text(stored_job const& job) {
    bool const shown = job.paused && !is_final(job.now);
    return fmt::format("{}{}", name_of(job.now), !shown ? "" : job.now == stage::queued ? ", paused" : ", pausing");
}

/// In its array; empty: it is in none.
[[nodiscard]] std::string index_text(stored_job const& job) {
    auto const index = array_index_of(job.what);
    return index ? std::to_string(*index) : "";
}

[[nodiscard]] std::string table_of(std::vector<stored_job> const& jobs) {
    std::vector<std::vector<std::string>> lines{{"job", "index", "stage", "for", "launches", "priority", "reason"}};
    for (auto const& job : jobs)
        lines.push_back({label_of(job.what.name, job.id), index_text(job), stage_text(job),
                         is_final(job.now) ? "" : age_text(job.stage_ms), std::to_string(job.incarnation),
                         std::to_string(job.what.priority), printable(job.why)});
    return aligned_with_texts(std::move(lines));
}

[[nodiscard]] std::string details_of(stored_job const& job, std::vector<past_stage> const& history,
                                     job_wait const& wait, service_folder const& folder) {
    auto const label = label_of(job.what.name, job.id);
    auto const index = index_text(job);
    auto text = fmt::format("{}{}: {}{}\n", label, index.empty() ? "" : ", index " + index, stage_text(job),
                            job.why.empty() ? "" : " (" + printable(job.why) + ")");
    if (!wait.sentence.empty()) text += fmt::format("  {}\n", printable(wait.sentence));
    text += fmt::format("  output: {}\n", folder.log_of(job.what.uid, label));
    for (auto const& past : history)
        text += fmt::format("  {:>9}  launch {}  {}{}\n", age_text(past.at_ms), past.incarnation, name_of(past.what),
                            past.why.empty() ? "" : ": " + printable(past.why));
    return text;
}

[[nodiscard]] exit_code show_all(job_reader& reader, service_folder const& folder, bool json) {
    auto const jobs = reader.all();
    if (!jobs) return unreachable(jobs.failure(), folder);
    auto const problems = reader.problems();
    if (!problems) return unreachable(problems.failure(), folder);
    for (auto const& one : *problems) std::fprintf(stderr, "ration: warning: %s\n", printable(one).c_str());
    if (json)
        std::puts(jobs_json(*jobs, folder).c_str());
    else if (jobs->empty())
        std::puts("no job was submitted");
    else
        fmt::print("{}", table_of(*jobs));
    return exit_code::ok;
}

/// Sends a request for each job; `action` follows its path.
[[nodiscard]] exit_code ask_for_each(named_jobs const& options, char const* method, char const* action) {
    auto const folder = service_folder_named(options.folder);
    auto reader = job_reader::open(folder);
    if (!reader) return unreachable(reader.failure(), folder);
    for (auto const& word : options.jobs) {
        auto const found = reader->find(word);
        if (!found) return unreachable(found.failure(), folder);
        auto const& seen = *found;
        if (!seen) return unknown_job(word);
        auto const reply = ask_service(folder, method, fmt::format("/v1/jobs/{}{}", seen->job.id, action));
        if (!reply) return unreachable(reply.failure(), folder);
        if (reply->status >= 300) return refused(*reply);
        if (options.json) std::puts(reply->json.c_str());
    }
    return exit_code::ok;
}

/// Prints a warning if the job runs and has shown no way to continue.
void warn_of_beginning(std::string const& running, std::string const& word) {
    auto const json = parse_json(running);
    if (!json.is_object() || !json.contains("jobs") || !json["jobs"].is_array()) return;
    for (auto const& job : json["jobs"]) {
        bool const known = job.is_object() && job.contains("id") && job.contains("continues") && job.contains("label");
        if (!known || !job["label"].is_string() || job["id"] != job_named(word) || job["continues"] != false) continue;
        std::fprintf(stderr,
                     "ration: warning: %s accepts no commands and has delivered no checkpoint, so that it may start "
                     "again from its beginning; let it save into RATION_CHECKPOINT\n",
                     printable(job["label"].get<std::string>()).c_str());
    }
}

[[nodiscard]] exit_code code_of(stored_job const& job) {
    if (job.now == stage::completed) return exit_code::ok;
    if (job.end.exit_code.value_or(0) != 0) return static_cast<exit_code>(*job.end.exit_code);
    if (job.now == stage::halted) return exit_code::interrupted;
    return job.end.signal ? static_cast<exit_code>(128 + *job.end.signal) : exit_code::job_failed;
}

}  // namespace

exit_code show_status(status_options const& options) {
    auto const folder = service_folder_named(options.folder);
    auto reader = job_reader::open(folder);
    if (!reader) return unreachable(reader.failure(), folder);
    if (options.job.empty()) return show_all(*reader, folder, options.json);
    auto const found = reader->find(options.job);
    if (!found) return unreachable(found.failure(), folder);
    auto const& seen = *found;
    if (!seen) return unknown_job(options.job);
    auto const wait = reader->wait_of(seen->job);
    if (options.json)
        std::puts(job_json(seen->job, folder, seen->history, wait).c_str());
    else
        fmt::print("{}", details_of(seen->job, seen->history, wait, folder));
    return exit_code::ok;
}

exit_code cancel_jobs(cancel_options const& options) { return ask_for_each(options, "DELETE", ""); }
exit_code pause_jobs(pause_options const& options) {
    auto const folder = service_folder_named(options.folder);
    auto const running = ask_service(folder, "GET", std::string(running_path));
    if (running)
        for (auto const& word : options.jobs) warn_of_beginning(running->json, word);
    return ask_for_each(options, "POST", "/pause");
}

exit_code resume_jobs(resume_options const& options) { return ask_for_each(options, "POST", "/resume"); }

result<std::optional<job_output>> output_of_job(std::string const& folder, std::string const& word) {
    auto const state = service_folder_named(folder);
    auto reader = job_reader::open(state);
    if (!reader) return reader.failure();
    auto const found = reader->find(word);
    if (!found) return found.failure();
    auto const& seen = *found;
    if (!seen) return std::optional<job_output>();
    auto const& job = seen->job;
    auto const uid = job.what.uid;
    return std::optional(job_output{.log = state.log_of(uid, label_of(job.what.name, job.id)),
                                    .rights = ::geteuid() == 0 ? state.rights_of(uid) : std::nullopt,
                                    .is_final = is_final(job.now)});
}

exit_code wait_for_job(wait_options const& options) {
    constexpr useconds_t shortest = 50'000, longest = 1'000'000;
    auto const folder = service_folder_named(options.folder);
    auto reader = job_reader::open(folder);
    if (!reader) return unreachable(reader.failure(), folder);
    for (auto rest = shortest;; rest = std::min(longest, rest * 5 / 4)) {
        auto const found = reader->find(options.job);
        if (!found) return unreachable(found.failure(), folder);
        auto const& seen = *found;
        if (!seen) return unknown_job(options.job);
        if (is_final(seen->job.now)) {
            if (options.json) std::puts(job_json(seen->job, folder, {}).c_str());
            return code_of(seen->job);
        }
        ::usleep(rest);
    }
}

}  // namespace ration::program
