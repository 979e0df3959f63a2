// SPDX-License-Identifier: BSL-1.0
/// Reads the task table (`pai_task_table`) of Alibaba's cluster-trace-gpu-v2020.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/trace/table.hpp>

namespace ration::sim::trace {

namespace detail {

/// The sums over the tasks of one job.
struct alibaba_job {
    std::string name;
    std::uint64_t line = 0;
    double devices = 0, start = -1, end = -1;  ///< seconds; below 0 = no task has it
};

/// Adds one task. Returns false if one of its numbers is invalid.
[[nodiscard]] inline bool add_task(row const& r, alibaba_job& job) {
    double instances = 0, per_cent = 0, start = 0, end = 0;
    auto const read = [&](field f, double& value) {
        return r[f].empty() || (to_number(r[f], value) && value >= 0 && value <= 9e9);
    };
    if (!read(field::instances, instances) || !read(field::devices, per_cent) || !read(field::started, start) ||
        !read(field::ended, end))
        return false;
    job.devices += instances * per_cent / 100;
    if (!r[field::started].empty()) job.start = job.start < 0 ? start : std::min(job.start, start);
    if (!r[field::ended].empty()) job.end = std::max(job.end, end);
    return true;
}

inline constexpr column alibaba_job_columns[] = {{"job_name", field::name},
                                                 {"start_time", field::submitted},
                                                 {"plan_gpu", field::devices},
                                                 {"end_time", field::duration}};
inline constexpr layout alibaba_job_layout{.is = format::alibaba, .columns = alibaba_job_columns, .real = true};

}  // namespace detail

/// Reads the table. A job has the devices of all its tasks, rounded up to whole ones, from the start of its first
/// task to the end of its last. Jobs without devices, a start or an end are skipped. `unit`: seconds of a unit of time;
/// 0 = that of the format. O(text + tasks log jobs).
[[nodiscard]] inline result<workload, diagnostic> read_alibaba(std::string_view text, model_library const& library,
                                                               std::string name, double unit = 0) {
    table_reader table(text, *find_layout(format::alibaba));
    std::vector<detail::alibaba_job> jobs;
    std::map<std::string, std::size_t, std::less<>> index;
    if (!table.begin()) return table.status().failure();
    for (row r; table.next(r);) {
        auto found = index.find(r[field::name]);
        if (found == index.end()) {
            found = index.emplace(r[field::name], jobs.size()).first;
            jobs.push_back({.name = std::string(r[field::name]), .line = r.line});
        }
        if (!detail::add_task(r, jobs[found->second]))
            return diagnostic{
                .line = r.line,
                .text =
                    "inst_num, plan_gpu, start_time and end_time have to be numbers from 0 to 9000000000, or empty"};
    }
    if (!table.status()) return table.status().failure();
    builder made(in_unit(detail::alibaba_job_layout, unit), library);
    made.reserve(jobs.size());
    for (auto const& job : jobs) {
        bool const ran = job.start >= 0 && job.end > job.start;
        std::string const devices =
            std::to_string(static_cast<std::int64_t>(std::ceil(std::min(job.devices, 9e9) - 1e-9)));
        std::string const start = std::to_string(job.start), seconds = ran ? std::to_string(job.end - job.start) : "";
        row r;
        r.line = job.line;
        r[field::name] = job.name;
        r[field::submitted] = start;
        r[field::devices] = devices;
        r[field::duration] = seconds;
        if (!made.add(r)) return made.failure();
    }
    return made.finish(std::move(name));
}

}  // namespace ration::sim::trace
