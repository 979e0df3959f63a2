// SPDX-License-Identifier: BSL-1.0
#include "sim/input.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

#include <ration/sim/cpu_files.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/rate_model.hpp>
#include <ration/sim/trace/read.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "config/settings.hpp"
#include "policies/policy_registry.hpp"
#include "sim/estimate_options.hpp"
#include "sim/fault_options.hpp"
#include "sim/generate.hpp"
#include "sim/noise_options.hpp"
#include "sim/price_options.hpp"
#include "sim/traces.hpp"

namespace ration::program {
namespace {

/// The models of one path.
[[nodiscard]] result<sim::model_library, diagnostic> read_models(std::string const& path, sim::cluster const& machines,
                                                                 double interference) {
    if (!std::filesystem::is_directory(path)) {
        auto const text = sim::trace::contents(path.c_str());
        if (!text) return text.failure();
        sim::trace::row_scanner rows(*text, ',');
        std::string_view const first = rows.next() ? rows.fields()[0] : "";
        if (first == "model") return sim::read_rates(*text, machines.types);
        if (first == "name") return sim::read_cpu_models(*text);
        return diagnostic{
            .line = 1,
            .text =
                "this is not a file of models; write one whose first column is called model (measured rates) or name (fitted losses)"};
    }
    sim::profile_options how{.interference = interference, .devices_per_node = {}};
    for (auto const& group : machines.groups)
        if (std::ranges::find(how.devices_per_node, group.devices) == how.devices_per_node.end())
            how.devices_per_node.push_back(group.devices);
    return sim::load_profiles(path, how);
}

[[nodiscard]] sim::model_library read_library(simulation_options const& options, sim::cluster const& machines,
                                              diagnostics& problems) {
    sim::model_library library;
    for (auto const& path : options.models) {
        auto read = read_models(path, machines, options.interference);
        if (!read)
            problems.add(in_file(path, read.failure()));
        else
            std::ranges::move(*read, std::back_inserter(library));
    }
    if (options.interference > 0 &&
        std::ranges::none_of(library, [](sim::named_model const& one) { return one.model->feels_contention(); }))
        problems.add(
            {.file = "--interference",
             .text =
                 "only jobs with measured profiles feel it: name their folder with --models, as in --models bench/data/pollux"});
    return library;
}

/// The tenants of the file, then those that only the jobs name.
void read_tenants(simulation_options const& options, simulation_input& input, diagnostics& problems) {
    auto const tree = load_tenants(options.tenants, problems);
    input.half_life = tree.half_life;
    diagnostics over(options.tenants);
    check_quotas(tree, {static_cast<std::int64_t>(cores_of(input.machines) * 1000)}, devices_of(input.machines), over);
    for (auto const& problem : over) problems.add(problem);
    for (auto& s : input.samples) {
        if (s.stream)
            return problems.add(
                {.file = "--tenants",
                 .text = fmt::format("a stream of jobs has no figures of tenants; generate at most {} jobs",
                                     most_kept_jobs)});
        auto rows = rows_of(tree, s.jobs.tenants);
        std::vector<std::uint32_t> row_of(s.jobs.tenants.size());
        for (std::size_t t = 0; t < row_of.size(); ++t) row_of[t] = rows.row_of(s.jobs.tenants[t]);
        for (auto& job : s.jobs.jobs) job.tenant = row_of[job.tenant];
        s.jobs.tenants = std::move(rows.names);
        s.jobs.tenant_terms = std::move(rows.rows);
    }
}

/// The bound on all schedules, and the jobs that no schedule can run.
void find_bounds(simulation_input& input, diagnostics& problems) {
    constexpr double year = 365.25 * 86400;
    for (auto& s : input.samples) {
        if (s.stream) continue;
        s.needs = needs_of(s.jobs, input.machines);
        s.bounds = bounds_of(s.jobs, s.needs, input.machines);
        if (s.bounds.makespan > to_seconds(sim::longest_run))
            return problems.add({.file = s.jobs.name,
                                 .text = beyond_clock(fmt::format("the jobs last {:.0f} years together, more than",
                                                                  s.bounds.makespan / year))});
        auto const too_large = std::ranges::count_if(s.needs, [](auto const& needs) { return !needs.possible(); });
        if (too_large > 0)
            input.remarks.push_back(
                fmt::format("{} of the {} jobs of {} need more devices than the cluster has, and are never started",
                            too_large, s.jobs.jobs.size(), s.jobs.name));
    }
}

}  // namespace

std::string beyond_clock(std::string_view what) {
    return fmt::format(
        "{} the 285 years of a simulation's clock: are these milliseconds? Write --time-unit ms, or name fewer jobs",
        what);
}

std::optional<nanoseconds> parse_sim_time(std::string_view text) noexcept {
    if (!text.empty() && text.find_first_not_of("0123456789.") == text.npos)
        return parse_duration(std::string(text) + 's');
    return parse_duration(text);
}

namespace {

void read_cache(simulation_options const& options, simulation_input& input, diagnostics& problems) {
    if (!options.cache) return;
    diagnostics found;
    auto const sharing = item_parameters(input.settings, found);
    for (auto const& one : found) problems.add({.file = "--set", .text = one.text});
    if (sharing)
        input.cache = sim::item_cache_options{
            .bytes = options.cache->count, .storage = static_cast<double>(options.storage.count), .sharing = *sharing};
}

/// Nodes with revocations are transient servers.
void read_prices(simulation_options const& options, simulation_input& input, diagnostics& problems) {
    bool const are_transient =
        std::ranges::any_of(options.faults, [](auto const& word) { return word.starts_with("revocations"); });
    auto prices = prices_by_type(options.prices, input.machines, are_transient);
    if (!prices) return problems.add(in_file("--price", prices.failure()));
    input.prices = *std::move(prices);
}

/// A cache needs jobs that read, and not more tenants than a round can serve.
void check_reads(simulation_input const& input, diagnostics& problems) {
    constexpr std::size_t most_tenants = 1000;
    if (!input.cache) return;
    for (auto const& s : input.samples)
        if (s.stream || s.jobs.items.empty() || s.jobs.tenants.size() > most_tenants)
            return problems.add(
                {.file = "--cache",
                 .text = fmt::format("the jobs of {} read no data set, or are of more than {} tenants; "
                                     "name a trace with the columns data_set, data_bytes and read_bytes, "
                                     "or generate at most {} jobs with the key data_sets",
                                     quoted(s.jobs.name), most_tenants, most_kept_jobs)});
}

}  // namespace

simulation_input read_simulation(simulation_options const& options, diagnostics& problems) {
    simulation_input input;
    auto machines = parse_cluster(options.cluster);
    if (!machines) {
        problems.add(in_file("--cluster", machines.failure()));
        return input;
    }
    input.machines = *std::move(machines);
    auto names = options.policies;
    if (options.cache) names.emplace_back(item_policy);
    std::ranges::copy_if(options.estimates, std::back_inserter(names), is_plugin_path);
    add_settings(options.settings, names, "run", input.settings, problems);
    read_cache(options, input, problems);
    read_prices(options, input, problems);
    for (auto const& word : options.noise)
        if (auto const added = add_noise(word, input.noise); !added) problems.add(in_file("--noise", added.failure()));
    auto const library = std::make_shared<sim::model_library const>(read_library(options, input.machines, problems));
    if (options.traces.empty() == options.generate.empty())
        problems.add({.text = "name the jobs: either --trace FILE, or --generate KIND"});
    if (!problems.empty()) return input;
    options.generate.empty() ? read_traces(options, library, input, problems)
                             : generate(options, *library, input, problems);
    if (!options.estimates.empty()) prepare_estimates(options.estimates, *library, input, problems);
    if (!options.tenants.empty()) read_tenants(options, input, problems);
    if (problems.empty()) check_reads(input, problems);
    for (auto const& s : input.samples)
        if (auto const fit = check_machines(s.jobs, input.machines); !fit && problems.empty())
            problems.add(fit.failure());
    if (problems.empty()) find_bounds(input, problems);
    if (problems.empty() && !options.faults.empty()) draw_faults(options, input, problems);
    return input;
}

}  // namespace ration::program
