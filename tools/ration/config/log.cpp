// SPDX-License-Identifier: BSL-1.0
#include "config/log.hpp"

#include <fmt/format.h>

#include <ration/progress/log_adapter.hpp>

namespace ration::program {

result<void, diagnostic> check_log_pattern(std::string const& pattern, std::string const& metric) {
    if (pattern.empty() || pattern.find('\0') != std::string::npos)
        return diagnostic{.text = "'log' is no regular expression; leave the key out for a job that reports by itself"};
    auto const made = progress::log_adapter::make(pattern, job_id{}, incarnation_id{});
    if (!made) return diagnostic{.text = fmt::format("'log' cannot be used: {}", made.failure().remedy)};
    for (auto const* opening : {"(?<", "(?P<"})
        if (metric.empty() || pattern.find(opening + metric + '>') != std::string::npos) return {};
    return diagnostic{
        .text = fmt::format("'log' does not read the metric of the target; put its number into a group: (?<{}>\\S+)",
                            metric)};
}

}  // namespace ration::program
