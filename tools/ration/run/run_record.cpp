// SPDX-License-Identifier: BSL-1.0
#include "run/run_record.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/core.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "common/printable.hpp"
#include "config/config.hpp"
#include "events/bytes_member.hpp"
#include "events/json_reader.hpp"
#include "run/json_fields.hpp"

namespace ration::program {
namespace {

using json = nlohmann::json;

constexpr std::int64_t longest_run = std::int64_t{1} << 60;  // 36 years in nanoseconds

/// Each field of a job with its name, for both ways.
template <class Job, class Visit>
void for_each_field(Job& job, Visit&& visit) {
    visit("name", job.name);
    visit("id", job.id);
    visit("pid", job.pid);
    visit("start_time", job.start_time);
    visit("incarnation", job.incarnation);
    visit("token", job.token);
    visit("launching", job.launching);
    visit("started_ns", job.started_ns);
    visit("acceptable_ns", job.acceptable_ns);
    visit("objective_ns", job.objective_ns);
    visit("ended_ns", job.ended_ns);
    visit("tier", job.tier);
    visit("definition", job.definition);
    visit("phase", job.phase);
    visit("holds", job.holds);
    visit("next", job.next);
    visit("origin", job.origin);
    visit("wanted", job.wanted);
    visit("batch", job.batch);
    visit("launched_batch", job.launched_batch);
    visit("falls_back", job.falls_back);
    visit("returning", job.returning);
    visit("has_saved", job.has_saved);
    visit("finishing", job.finishing);
    visit("cost", job.cost);
    visit("control", job.control);
    visit("checkpoint", job.checkpoint);
    visit("how", job.how);
    visit("why", job.why);
}

/// The same of a run, but its jobs.
template <class Run, class Visit>
void for_each_field_of_run(Run& run, Visit&& visit) {
    visit("run", run.run);
    visit("owner", run.owner);
    visit("owner_start_time", run.owner_start_time);
    visit("file", run.file);
    visit("policy", run.policy);
    visit("output", run.output);
    visit("memberships", run.memberships);
    visit("boot", run.boot);
    visit("pid_namespace", run.pid_namespace);
    visit("written_ns", run.written_ns);
    visit("clock_ns", run.clock_ns);
}

/// A value as the record has it; no value of an enumeration is the empty word.
template <class T>
[[nodiscard]] json as_json(T const& value) {
    return value;
}
/// Paths may be any bytes.
[[nodiscard]] json as_json(std::string const& value) {
    return is_utf8(value) ? json(value) : json{{"hex", hex_of(value)}};
}
template <class Enum>
[[nodiscard]] json as_json(std::optional<Enum> const& value) {
    return value ? std::string(name_of(*value)) : std::string();
}

[[nodiscard]] bool is_token(std::string_view text) {
    return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// The field of this job that cannot be in a run that has taken so long; nullptr when all can.
[[nodiscard]] char const* wrong_field_of(recorded_job const& job, std::int64_t clock_ns) {
    bool const over = job.is_over(), has_process = job.pid != 0;
    if (!is_plain_name(job.name)) return "name";
    if (has_process && (job.pid == 1 || over)) return "pid";  // nor is init a job
    if (has_process != (job.start_time != 0)) return "start_time";
    if (job.incarnation == std::numeric_limits<std::uint32_t>::max()) return "incarnation";
    if (!is_token(job.token) && !(job.token.empty() && !has_process)) return "token";
    if (job.started_ns > clock_ns) return "started_ns";
    if (job.acceptable_ns > clock_ns) return "acceptable_ns";
    if (job.objective_ns > clock_ns) return "objective_ns";
    if (job.ended_ns > clock_ns) return "ended_ns";
    if (has_process && job.phase && job.holds.empty()) return "holds";
    for (std::int64_t const amount : {job.wanted, job.batch, job.launched_batch})
        if (amount > std::int64_t{1} << 40) return "wanted";
    return nullptr;
}

/// Values that only one job can have.
class claims {
    std::set<std::string> names_, tokens_, devices_;
    std::set<pid_t> processes_;

public:
    /// The field of this job that another one has too; nullptr: none.
    [[nodiscard]] char const* add(recorded_job const& job) {
        if (!names_.insert(job.name).second) return "name";
        if (job.pid != 0 && !processes_.insert(job.pid).second) return "pid";
        if (!job.token.empty() && !tokens_.insert(job.token).second) return "token";
        std::set<std::string> its_own;
        for (auto const* const list : {&job.holds, &job.next, &job.origin}) {
            std::set<std::string> const these(list->begin(), list->end());
            if (these.size() != list->size() || these.contains("")) return "holds";
            its_own.insert(these.begin(), these.end());
        }
        if (job.is_over()) return nullptr;
        for (auto const& device : its_own)
            if (!devices_.insert(device).second) return "holds";
        return nullptr;
    }
};

[[nodiscard]] std::string no_such(std::string_view field) {
    return fmt::format("its field {} is missing or cannot be", quoted(field));
}

/// FNV-1a of 64 bits: enough to detect a record from which a part is missing. Source: RFC 9923.
[[nodiscard]] std::string sum_of(std::string_view text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (char const c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", sum);
}

[[nodiscard]] std::string text_of(json const& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

[[nodiscard]] std::string read_jobs(json const& from, run_record& into) {
    if (!from.is_array() || from.size() > max_jobs) return no_such("jobs");
    claims taken;
    for (auto const& one : from) {
        auto& job = into.jobs.emplace_back();
        if (!one.is_object()) return no_such("jobs");
        field_reader reader{one};
        for_each_field(job, reader);
        char const* const wrong = !reader.wrong.empty() ? reader.wrong.c_str() : wrong_field_of(job, into.clock_ns);
        if (wrong != nullptr) return no_such(fmt::format("jobs/{}/{}", into.jobs.size() - 1, wrong));
        if (auto const* const twice = taken.add(job); twice != nullptr)
            return fmt::format("two of its jobs have the same {}", quoted(twice));
    }
    return {};
}

}  // namespace

std::optional<std::string> state_folder_of(std::string_view file) {
    if (!file.starts_with('/') || !file.ends_with(job_list_of_service)) return std::nullopt;
    return std::string(file.substr(0, file.size() - job_list_of_service.size()));
}

std::string to_json(run_record const& record) {
    json run, jobs = json::array();
    for_each_field_of_run(record, [&](char const* name, auto const& value) { run[name] = as_json(value); });
    for (auto const& job : record.jobs)
        for_each_field(job, [&, row = &jobs.emplace_back()](char const* name, auto const& value) {
            (*row)[name] = as_json(value);
        });
    run["jobs"] = std::move(jobs);
    auto const text = text_of(run);
    return fmt::format(R"({{"run":{},"sum":"{}"}})", text, sum_of(text));
}

std::string read_record(std::string_view text, run_record& into) {
    into = {};
    auto const whole = parse_json(text);
    if (!whole.is_object() || !whole.contains("run") || !whole.contains("sum"))
        return "it is not a record, or part of one";
    auto const& run = whole["run"];
    if (!run.is_object() || whole["sum"] != sum_of(text_of(run))) return "it is not as it was written";
    field_reader reader{run};
    for_each_field_of_run(into, reader);
    if (!reader.wrong.empty()) return no_such(reader.wrong);
    if (into.owner == 0) return no_such("owner");
    if (into.clock_ns > longest_run) return no_such("clock_ns");
    if (!into.output.starts_with('/')) return no_such("output");
    auto const jobs = run.find("jobs");
    return jobs == run.end() ? no_such("jobs") : read_jobs(*jobs, into);
}

}  // namespace ration::program
