// SPDX-License-Identifier: BSL-1.0
// The figures of tenants, for people.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "common/printable.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

/// Means over the samples.
struct mean_tenant {
    double jobs = 0, mean_wait = 0, p99_wait = 0, held = 0, weight = 0, cached = 0, speed = 0, samples = 0;

    void add(sim::tenant_figures const& one) noexcept {
        jobs += static_cast<double>(one.jobs);
        mean_wait += one.mean_wait;
        p99_wait += one.p99_wait;
        held += one.held;
        weight += one.weight;
        cached += one.cached;
        speed += one.speed;
        ++samples;
    }
};

[[nodiscard]] mean_tenant mean_of(simulation_results const& all, std::size_t policy, std::string const& name) {
    mean_tenant mean;
    for (auto const& run : all.runs_of(policy)) {
        auto const& names = all.input.samples[run.sample].jobs.tenants;
        auto const row = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        if (row < run.tenants.size()) mean.add(run.tenants[row]);
    }
    return mean;
}

/// A mean of several samples need not be whole.
[[nodiscard]] std::string count_text(double count) {
    return count == std::floor(count) ? fmt::format("{:.0f}", count) : short_number(count);
}

[[nodiscard]] std::vector<std::string> names_of(simulation_results const& all) {
    std::vector<std::string> names;
    for (auto const& sample : all.input.samples)
        for (auto const& name : sample.jobs.tenants)
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return names;
}

}  // namespace

std::vector<std::vector<std::string>> tenant_cells(simulation_results const& all) {
    bool const reads = all.options.cache.has_value();
    if (all.options.tenants.empty() && !reads) return {};
    auto const times = unit_of(all);
    std::vector<std::vector<std::string>> table{{"tenant", "policy", "jobs", fmt::format("mean wait ({})", times.name),
                                                 fmt::format("p99 wait ({})", times.name), "held", "by weight"}};
    if (reads) table.front().insert(table.front().end(), {"from cache", "speed"});
    for (auto const& name : names_of(all))
        for (std::size_t p = 0; p < all.policies.size(); ++p) {
            auto const mean = mean_of(all, p, name);
            auto const text = [&](double sum, figure_unit unit) {
                return figure_text({.mean = sum / mean.samples}, unit, times);
            };
            table.push_back({p == 0 ? printable(name) : "", all.policies[p].label, count_text(mean.jobs / mean.samples),
                             text(mean.mean_wait, figure_unit::time), text(mean.p99_wait, figure_unit::time),
                             text(mean.held, figure_unit::share), text(mean.weight, figure_unit::share)});
            if (reads)
                table.back().insert(table.back().end(),
                                    {text(mean.cached, figure_unit::share), text(mean.speed, figure_unit::share)});
        }
    return table;
}

}  // namespace ration::program
