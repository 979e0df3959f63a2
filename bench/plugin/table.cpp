// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#include <cstdio>
#include <cstdlib>

namespace plugin_bench {

void medians::ReportRuns(std::vector<Run> const& runs) {
    for (auto const& run : runs) {
        if (run.error_occurred) {
            std::fprintf(stderr, "%s: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
            std::exit(1);
        }
        if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median") continue;
        auto const name = run.run_name.function_name + '/' + run.run_name.args;
        of_time_[name] = run.GetAdjustedRealTime();
        of_counters_[name] = run.counters;
    }
}

double medians::of(std::string const& name) const {
    auto const found = of_time_.find(name);
    return found == of_time_.end() ? 0 : found->second;
}

double medians::of(std::string const& name, std::string const& counter) const {
    auto const found = of_counters_.find(name);
    if (found == of_counters_.end()) return 0;
    auto const value = found->second.find(counter);
    return value == found->second.end() ? 0 : value->second.value;
}

}  // namespace plugin_bench
