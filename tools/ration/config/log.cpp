// SPDX-License-Identifier: BSL-1.0
#include "config/log.hpp"

#include <fmt/format.h>

#include <ration/progress/log_adapter.hpp>

namespace ration::program {

std::string problem_with_log(std::string const& pattern, std::string const& metric) {
    if (pattern.empty() || pattern.find('\0') != std::string::npos)
        return "'log' is no regular expression; leave the key out for a job that reports by itself";
    auto const made = progress::log_adapter::make(pattern, job_id{}, incarnation_id{});
    if (!made) return fmt::format("'log' cannot be used: {}", made.failure().remedy);
    for (auto const* opening : {"(?<", "(?P<"})
        if (metric.empty() || pattern.find(opening + metric + '>') != std::string::npos) return {};
    return fmt::format("'log' does not read the metric of the target; put its number into a group: (?<{}>\\S+)",
                       metric);
}

}  // namespace ration::program
