// SPDX-License-Identifier: BSL-1.0
/// Writes a workload as a trace in ration's own format.
///
/// | column | meaning | when empty |
/// |---|---|---|
/// | job_id | its name | |
/// | submit_time | seconds | |
/// | num_gpus | devices that the user requested | 0, for a job on processors |
/// | duration | seconds with these devices, for a job without a model | `length` is used |
/// | tenant | name of its tenant | "default" |
/// | model | name of its model | the job is rigid |
/// | min_gpus, max_gpus | bounds of its devices | those of its model; num_gpus for a rigid job |
/// | batch_size | samples per step of all devices that the user requested | that of its model |
/// | length | steps of the whole job | that of its model |
/// | weight | among the jobs of its tenant | 1 |
/// | restart_cost | seconds without progress at each change of its devices | that of its model; 0 for a rigid job |
/// | deadline | seconds, on the clock of submit_time | none |
/// | data_set | the data set that it reads | it reads none |
/// | data_bytes, read_bytes | bytes of the data set, and of it that a step reads | |
/// | requests | devices of a service, from seconds after its submission on: "0:2 600:8" | the job is not a service |
/// | phases | seconds, cores, bytes and noise of each phase: "60:0.1:1e8 400:2:1e9:0.05" | it has no phases |
///
/// Required are the first three, and one of `duration`, `length`, `model` and `phases`.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ration/sim/phase_model.hpp>
#include <ration/sim/serving_model.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim::trace {

namespace detail {

/// Appends a number with the fewest digits that read back as the same value.
inline void append(std::string& to, double value) {
    char digits[32];
    auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    to.append(digits, end);
}
/// Appends a whole number.
inline void append(std::string& to, std::int64_t value) {
    char digits[24];
    auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    to.append(digits, end);
}
/// Appends a time as seconds, exactly.
inline void append(std::string& to, nanoseconds t) {
    append(to, t.count / 1'000'000'000);
    std::int64_t const rest = t.count % 1'000'000'000;
    if (rest == 0) return;
    std::string digits = std::to_string(1'000'000'000 + rest);
    digits.erase(digits.find_last_not_of('0') + 1);
    digits[0] = '.';
    to += digits;
}
/// Appends a word, in double quotes if necessary.
inline void append(std::string& to, std::string_view word) {
    if (word.find_first_of(",\" ") == word.npos) return static_cast<void>(to += word);
    to += '"';
    for (char const c : word) to.append(c == '"' ? 2U : 1U, c);
    to += '"';
}

/// Appends the data set of a job, in a workload that has some.
inline void append_reads(std::string& to, workload const& from, job_description const& job) {
    if (job.item == no_item) return static_cast<void>(to += ",,,");
    auto const& set = from.items[job.item];
    append(to += ',', std::string_view(set.name));
    append(to += ',', set.bytes);
    append(to += ',', job.read);
}

/// The model of a service; nullptr for other jobs.
[[nodiscard]] inline serving_model const* service_of(workload const& from, job_description const& job) noexcept {
    return dynamic_cast<serving_model const*>(from.models[job.model].get());
}

/// The model of a job with phases; nullptr for other jobs.
[[nodiscard]] inline phase_model const* phases_of(workload const& from, job_description const& job) noexcept {
    return dynamic_cast<phase_model const*>(from.models[job.model].get());
}

/// The columns at the end that not every trace has.
struct last_columns {
    bool requests = false, phases = false;
};

/// Appends the line of one job.
inline void append_job(std::string& to, workload const& from, std::size_t j, last_columns has) {
    job_description const& job = from.jobs[j];
    auto const* const phased = phases_of(from, job);
    bool const rigid = phased == nullptr && from.model_names[job.model] == "rigid";
    auto const cell = [&to](bool there, auto const& value) {
        if (there) append(to, value);
        to += ',';
    };
    from.job_names.empty() ? cell(true, static_cast<std::int64_t>(j)) : cell(true, std::string_view(from.job_names[j]));
    cell(true, job.submitted);
    cell(true, job.request);
    cell(rigid, job.length);
    cell(true, std::string_view(from.tenants[job.tenant]));
    cell(true, std::string_view(from.model_names[job.model]));
    cell(true, job.least);
    cell(true, job.most);
    cell(job.batch > 0, job.batch);
    cell(!rigid && phased == nullptr, job.length);
    cell(job.weight != 1, job.weight);
    cell(true, job.restart_cost);
    if (job.deadline.count >= 0) append(to, job.deadline);
    if (!from.items.empty()) append_reads(to, from, job);
    if (has.requests) to += ',';
    if (auto const* const service = service_of(from, job)) append(to, service->text());
    if (has.phases) to += ',';
    if (phased != nullptr) append(to, std::string_view(phased->text()));
    to += '\n';
}

}  // namespace detail

/// The trace as text. `read` makes the same workload from it, given the same models. O(jobs).
[[nodiscard]] inline std::string written(workload const& from) {
    std::string text =
        "job_id,submit_time,num_gpus,duration,tenant,model,min_gpus,max_gpus,batch_size,length,weight,restart_cost,deadline";
    detail::last_columns const has{.requests = std::ranges::any_of(from.models, &job_model::makes_requests),
                                   .phases = std::ranges::any_of(from.models, &job_model::has_phases)};
    text += from.items.empty() ? "" : ",data_set,data_bytes,read_bytes";
    text += has.requests ? ",requests" : "";
    text += has.phases ? ",phases\n" : "\n";
    text.reserve(text.size() + 80 * from.jobs.size());
    for (std::size_t j = 0; j < from.jobs.size(); ++j) detail::append_job(text, from, j, has);
    return text;
}

}  // namespace ration::sim::trace
