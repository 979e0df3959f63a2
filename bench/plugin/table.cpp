// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

namespace plugin_bench {

void medians::ReportRuns(std::vector<Run> const& runs) {
    for (auto const& run : runs)
        if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
            nanoseconds_[run.run_name.function_name + '/' + run.run_name.args] = run.GetAdjustedRealTime();
}

double medians::of(std::string const& name) const {
    auto const found = nanoseconds_.find(name);
    return found == nanoseconds_.end() ? 0 : found->second;
}

}  // namespace plugin_bench
