// SPDX-License-Identifier: BSL-1.0
// The medians of all runs, as one table.
#pragma once

#include <map>
#include <string>

#include <benchmark/benchmark.h>

namespace plugin_bench {

/// Keeps the median of each benchmark, by name, and prints nothing of its own.
class medians : public benchmark::BenchmarkReporter {
    std::map<std::string, double> nanoseconds_;

public:
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const& runs) override;
    /// 0 when there is none of this name.
    [[nodiscard]] double of(std::string const& name) const;
};

}  // namespace plugin_bench
