// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling_plan.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <utility>

#include <ration/assert.hpp>

#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

/// The policies that give a job alone the devices that it requests, and the CPU that its bounds permit.
constexpr auto policy_of_devices = "fifo", policy_of_cpu = "equal_share";

[[nodiscard]] bool is_elastic(job_config const& job) noexcept {
    return job.elastic && job.elastic->devices.minimum < job.elastic->devices.maximum;
}

[[nodiscard]] diagnostic at(run_config const& config, position where, std::string text) {
    return {.file = config.file, .line = where.line, .column = where.column, .text = std::move(text)};
}

[[nodiscard]] diagnostic not_elastic(run_config const& config, job_config const& job) {
    auto const name = quoted(job.name);
    if (!job.elastic)
        return at(config, job.where,
                  fmt::format("job {} uses no devices; add bounds = {{ gpu = {{ min = 1, max = 4 }} }} to it", name));
    return at(config, job.elastic->at,
              fmt::format("job {} has a fixed number of devices; give it a range, such as gpu = {{ min = 1, max = 4 }}",
                          name));
}

}  // namespace

result<std::size_t, diagnostic> choose_job(run_config const& config, std::string const& name) {
    std::vector<std::string_view> names, elastic;
    for (auto const& job : config.jobs) {
        names.emplace_back(job.name);
        if (is_elastic(job)) elastic.emplace_back(job.name);
    }
    auto const wanted = !name.empty() ? std::string_view(name) : elastic.size() == 1 ? elastic.front() : "";
    auto const found = std::ranges::find(config.jobs, wanted, &job_config::name);
    if (found != config.jobs.end() && is_elastic(*found)) return static_cast<std::size_t>(found - config.jobs.begin());
    if (found != config.jobs.end()) return not_elastic(config, *found);
    if (!name.empty()) return at(config, {}, fmt::format("job {} is unknown{}", quoted(name), suggestion(name, names)));
    if (config.jobs.size() == 1) return not_elastic(config, config.jobs.front());
    if (elastic.empty())
        return at(config, {},
                  "no job can change its devices; add bounds = { gpu = { min = 1, max = 4 } } to the one to measure");
    return at(config, {},
              fmt::format("{} jobs can change their devices; choose one by --job: {}", elastic.size(),
                          fmt::join(elastic, ", ")));
}

elastic_config const& elastic_of(job_config const& job) noexcept {
    RATION_ASSERT(job.elastic, "a job that can be measured describes its devices");
    return *job.elastic;
}

run_config measured_config(run_config config, std::size_t job) {
    auto one = std::move(config.jobs[job]);
    one.at = {};
    one.tenant.clear();
    one.at_objective = objective_action::continuation;
    one.saves_at_acceptable = false;
    one.hooks = {};
    if (one.elastic) one.elastic->checkpoint.clear();
    // So that --reattach does not continue a measurement as a run of the file
    one.definition.emplace_back("\"measured\" = true");
    config.policy = config.fallback = one.elastic ? policy_of_devices : policy_of_cpu;
    config.jobs.clear();
    config.jobs.push_back(std::move(one));
    config.tenants = {};
    config.parameters.clear();
    config.isolations.clear();
    return config;
}

std::vector<std::int64_t> default_sizes(std::int64_t least, std::int64_t most) {
    std::vector<std::int64_t> sizes{least};
    for (std::int64_t size = 1; size < most; size *= 2)
        if (size > least) sizes.push_back(size);
    if (most > least) sizes.push_back(most);
    return sizes;
}

result<std::vector<std::int64_t>, diagnostic> chosen_sizes(scaling_options const& options, job_config const& job) {
    auto const& accepted = elastic_of(job).devices;
    auto sizes = options.devices;
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (auto const size : sizes)
        if (size < accepted.minimum || size > accepted.maximum)
            return diagnostic{.file = "--devices",
                              .text = fmt::format("job {} accepts {} devices, not {}; choose numbers within its bounds",
                                                  quoted(job.name),
                                                  accepted.maximum == unlimited
                                                      ? fmt::format("{} or more", accepted.minimum)
                                                      : fmt::format("{} to {}", accepted.minimum, accepted.maximum),
                                                  size)};
    if (sizes.size() < 2)
        return diagnostic{.file = "--devices", .text = "one number has nothing to compare with; name at least two"};
    return sizes;
}

}  // namespace ration::program
