// SPDX-License-Identifier: BSL-1.0
#include "run/job_environment.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ration::program {

std::vector<std::string> declared_entries(job_config const& job) {
    std::vector<std::string> entries;
    entries.reserve(job.environment.size());
    for (auto const& [name, value] : job.environment) entries.push_back(name + '=' + value);
    return entries;
}

std::vector<std::string> inherited_entries(job_config const& job) {
    return job.owner ? job.owner->environment : process::current_environment();
}

process::environment_request environment_of(job_config const& job, millicores capacity, std::size_t jobs) {
    return {.inherited = inherited_entries(job),
            .declared = declared_entries(job),
            .cpu = std::min(millicores{job.cpu.maximum}, capacity),
            .share = process::even_share(capacity, jobs)};
}

std::vector<std::string> thread_entries(std::vector<std::string> const& environment) {
    auto const is_named = [](std::string const& entry) {
        auto const is_name = [&](std::string_view name) {
            return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
        };
        return std::ranges::any_of(process::thread_count_variables, is_name) ||
               std::ranges::any_of(process::openmp_waiting, is_name, &process::default_entry::name) ||
               is_name(process::openblas_waiting.name);
    };
    std::vector<std::string> out;
    std::ranges::copy_if(environment, std::back_inserter(out), is_named);
    return out;
}

}  // namespace ration::program
