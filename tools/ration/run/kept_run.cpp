// SPDX-License-Identifier: BSL-1.0
#include "run/kept_run.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "events/json_reader.hpp"
#include "run/json_fields.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_summary = std::uint64_t{4} << 20;
constexpr std::int64_t last_time_ms = std::int64_t{1} << 50;  // calendars of the C library end later

/// Each field of a run but its jobs, with its name.
template <class Run, class Visit>
void for_each_kept_field(Run& run, Visit&& visit) {
    visit("run", run.run);
    visit("started_ms", run.started_ms);
    visit("ended_ms", run.ended_ms);
    visit("file", run.file);
    visit("policy", run.policy);
    visit("log", run.log);
    visit("interrupted", run.interrupted);
}

/// The first field of this job that is missing or not valid; empty: none.
[[nodiscard]] std::string wrong_field_of_kept(nlohmann::json const& from, kept_job& into) {
    if (!from.is_object()) return "jobs";
    field_reader reader{from};
    reader("name", into.name);
    reader("how", into.how);
    reader("why", into.why);
    return reader.wrong.empty() && !is_plain_name(into.name) ? "name" : reader.wrong;
}

[[nodiscard]] std::string wrong_field_of_kept(nlohmann::json const& from, kept_run& into) {
    field_reader reader{from};
    for_each_kept_field(into, reader);
    if (!reader.wrong.empty()) return reader.wrong;
    if (!is_plain_name(into.run)) return "run";
    if (into.started_ms > last_time_ms) return "started_ms";
    if (into.ended_ms > last_time_ms) return "ended_ms";
    auto const jobs = from.find("jobs");
    if (jobs == from.end() || !jobs->is_array() || jobs->size() > max_jobs) return "jobs";
    for (auto const& job : *jobs)
        if (auto wrong = wrong_field_of_kept(job, into.jobs.emplace_back()); !wrong.empty()) return wrong;
    return {};
}

}  // namespace

kept_run start_of_run(std::string run, run_config const& config, std::string_view policy, std::int64_t now_ms) {
    kept_run out{.run = std::move(run),
                 .started_ms = now_ms,
                 .file = config.file,
                 .policy = std::string(policy),
                 .log = {},
                 .jobs = {}};
    for (auto const& job : config.jobs) out.jobs.push_back({.name = job.name});
    return out;
}

void add_end(run_summary const& summary, std::int64_t now_ms, kept_run& to) {
    to.ended_ms = now_ms;
    to.interrupted = summary.interrupted;
    to.jobs.clear();
    for (auto const& job : summary.jobs) to.jobs.push_back({.name = job.name, .how = job.how, .why = job.why});
}

std::string to_json(kept_run const& run) {
    nlohmann::ordered_json out;
    for_each_kept_field(run, [&](char const* name, auto const& value) { out[name] = value; });
    auto& jobs = out["jobs"] = nlohmann::ordered_json::array();
    for (auto const& job : run.jobs)
        jobs.push_back({{"name", job.name}, {"how", job.how ? name_of(*job.how) : ""}, {"why", job.why}});
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string read_kept_run(std::string_view text, kept_run& into) {
    into = {};
    auto const run = parse_json(text);
    if (!run.is_object()) return "it is not a JSON object";
    auto const wrong = wrong_field_of_kept(run, into);
    return wrong.empty() ? "" : fmt::format("its field {} is missing or not valid", quoted(wrong));
}

result<kept_run, diagnostic> load_kept_run(std::string const& folder) {
    constexpr char const* remedy = "name a run that 'ration runs' lists, or the path of its folder";
    auto const file = summary_in(folder);
    auto const text = process::read_input(
        file, {.remedy = remedy, .most_bytes = longest_summary, .too_large = "is larger than 4 MiB"});
    if (!text && text.failure().system == ENOENT)
        return diagnostic{.text = fmt::format("{} is not the folder of a run; {}", folder, remedy)};
    if (!text) return diagnostic{.text = fmt::format("{}: {}", file, process::input_sentence(text.failure()))};
    kept_run run;
    if (auto const wrong = read_kept_run(*text, run); !wrong.empty())
        return diagnostic{.text = fmt::format("{} is not the summary of a run: {}; {}", file, wrong, remedy)};
    return run;
}

std::vector<std::string> run_folders_in(std::string const& folder) {
    std::vector<std::string> found;
    std::error_code ignored;
    auto const above = (fs::path(folder) / folder_of_runs).lexically_normal();
    for (auto const& entry : fs::directory_iterator(above, ignored))
        if (!entry.is_symlink(ignored) && fs::exists(entry.path() / "summary.json", ignored))
            found.push_back(entry.path().string());
    std::ranges::sort(found);
    return found;
}

}  // namespace ration::program
