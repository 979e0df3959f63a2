// SPDX-License-Identifier: BSL-1.0
// The medians of all runs, as one table.
#pragma once

#include <benchmark/benchmark.h>
#include <map>
#include <string>

namespace plugin_bench {

/// Keeps the median of each benchmark's time and counters, by name, and prints nothing itself.
class medians : public benchmark::BenchmarkReporter {
    std::map<std::string, double> of_time_;
    std::map<std::string, benchmark::UserCounters> of_counters_;

public:
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const& runs) override;
    /// Nanoseconds; 0 without a benchmark of this name.
    [[nodiscard]] double of(std::string const& name) const;
    /// 0 without such a counter, or a benchmark of this name.
    [[nodiscard]] double of(std::string const& name, std::string const& counter) const;
    [[nodiscard]] bool has(std::string const& name) const { return of_time_.contains(name); }
};

}  // namespace plugin_bench
