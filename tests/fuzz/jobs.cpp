// SPDX-License-Identifier: BSL-1.0
// Jobs files: a file without problems keeps every documented bound, and each problem is one sentence with a place in
// the file.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "config/config.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using ration::diagnostic;

namespace {

void require_bounds(ration::bounds const& of, char const* invariant) {
    require(of.minimum >= 0 && of.minimum <= of.maximum, invariant);
}

void require_target(program::target_config const& target) {
    for (auto const& tier : {target.acceptable, target.objective})
        require(!tier || std::isfinite(*tier), "a tier is not finite");
    if (target.metric.empty()) return;
    require(target.is_given() || target.metric == "loss", "a target has no tier");
    require(!target.acceptable || !target.objective ||
                ration::reaches(target.improves, *target.objective, *target.acceptable),
            "an objective is easier than the acceptable tier");
    require(target.mean_of >= 1, "a mean is over no value");
}

void require_elastic(program::elastic_config const& elastic) {
    require_bounds(elastic.devices, "devices are out of bounds");
    require_bounds(elastic.batch, "a batch is out of bounds");
    require(std::ranges::all_of(elastic.speedup, [](double s) { return std::isfinite(s) && s >= 0; }),
            "a speedup is no factor");
    require(elastic.restart_cost.count >= 0 && elastic.gpu_memory.count >= 0, "a cost or a size is negative");
}

void require_job(program::job_config const& job) {
    require(program::is_plain_name(job.name) && job.name.size() <= 48, "a job's name is not plain");
    require(!job.command.empty() && !job.command.front().empty(), "a job has no program");
    for (auto const& word : job.command) require(word.find('\0') == word.npos, "a command holds a zero byte");
    for (auto const& [name, value] : job.environment)
        require(!name.empty() && name.find('=') == name.npos && !name.starts_with("RATION_"),
                "a variable cannot be set");
    require(job.at.count >= 0 && job.weight > 0 && job.weight <= 1e6, "a start or a weight is out of bounds");
    require_bounds(job.cpu, "cores are out of bounds");
    require(!job.memory || job.memory->count >= 1 << 20, "a memory limit is too small");
    require_target(job.target);
    if (job.elastic) require_elastic(*job.elastic);
}

void require_whole(program::run_config const& config) {
    require(!config.policy.empty(), "a file without problems has no policy");
    require(!config.jobs.empty() && config.jobs.size() <= program::max_jobs,
            "a file without problems has no jobs, or too many");
    require(config.tick.count > 0, "a tick takes no time");
    std::set<std::string> names;
    for (auto const& job : config.jobs) {
        require_job(job);
        require(names.insert(job.name).second, "two jobs have one name");
    }
}

void require_problems(program::diagnostics const& problems, std::string_view text) {
    auto const lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    for (auto const& one : problems) {
        fuzz::require_sentence(one.text);
        require(one.line <= lines, "a problem is behind the end of the file");
    }
    auto const position = [](diagnostic const& one) { return std::tuple(one.line, one.column); };
    require(std::ranges::is_sorted(problems, {}, position), "problems are not in the order of the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string const text(reinterpret_cast<char const*>(data), size);
    for (auto const& rules : {program::config_rules{}, program::config_rules{.policies = {"equal_share", "tradl"}}}) {
        auto const read = program::parse_config(text, "jobs.toml", rules);
        require_problems(read.problems, text);
        require(read.config.source == text, "the text of a file is not kept");
        if (read.problems.empty()) require_whole(read.config);
    }
    return 0;
}
