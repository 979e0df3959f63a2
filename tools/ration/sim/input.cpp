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
#include "sim/noise_options.hpp"
#include "sim/traces.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_nodes = 100'000;
constexpr std::int64_t most_devices = 1'000, most_cores = 10'000;  // of one node

/// A whole number from 1 to `most`, with nothing behind it.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) noexcept {
    std::int64_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size() || number < 1 || number > most) return std::nullopt;
    return number;
}

[[nodiscard]] diagnostic bad_group(std::string_view group) {
    return {
        .text = fmt::format(
            "{} is not a group of nodes: write NODESxDEVICES, as in 16x4, up to {} nodes with up to {} devices each, and a name behind "
            "a colon if they are of several types: 16x4:v100,8x8:a100; a node with cores is 1x8cores, or 1x4+8cores, up to {} cores",
            program::quoted(group), most_nodes, most_devices, most_cores)};
}

/// "8cores", "1core".
[[nodiscard]] std::optional<std::int64_t> number_of_cores(std::string_view text) noexcept {
    for (std::string_view const word : {"cores", "core"})
        if (text.ends_with(word)) return whole_number(text.substr(0, text.size() - word.size()), most_cores);
    return std::nullopt;
}

/// "4", "8cores" or "4+8cores" of each node; false when it is none of these.
[[nodiscard]] bool take_node(std::string_view text, sim::node_group& into) noexcept {
    std::size_t const plus = text.find('+');
    auto const cores = number_of_cores(text.substr(plus == text.npos ? 0 : plus + 1));
    if (plus != text.npos && !cores) return false;
    into.cores = static_cast<double>(cores.value_or(0));
    if (plus == text.npos && cores) return true;
    auto const devices = whole_number(text.substr(0, plus), most_devices);
    into.devices = devices.value_or(0);
    return devices.has_value();
}

/// Adds one group; false when it is none.
[[nodiscard]] bool add_group(std::string_view text, sim::cluster& to) {
    std::size_t const colon = std::min(text.find(':'), text.size()), x = text.find('x');
    if (x >= colon || colon + 1 == text.size()) return false;
    auto const nodes = whole_number(text.substr(0, x), most_nodes);
    sim::node_group group;
    if (!nodes || !take_node(text.substr(x + 1, colon - x - 1), group)) return false;
    std::string const type(colon == text.size() ? "gpu" : text.substr(colon + 1));
    auto found = std::ranges::find(to.types, type);
    if (found == to.types.end()) found = to.types.insert(to.types.end(), type);
    group.nodes = static_cast<std::size_t>(*nodes);
    group.type = static_cast<std::uint32_t>(found - to.types.begin());
    to.groups.push_back(group);
    return true;
}

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
                "this is no file of models: its first column is called model in one of measured rates, and name in one of fitted losses"};
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

constexpr std::pair<std::string_view, generated::kind> kinds[] = {{"rigid", generated::kind::rigid},
                                                                  {"scaling", generated::kind::scaling},
                                                                  {"profiled", generated::kind::profiled},
                                                                  {"cpu", generated::kind::cpu},
                                                                  {"serving", generated::kind::serving}};
constexpr std::pair<std::string_view, sim::arrival_pattern> patterns[] = {{"poisson", sim::arrival_pattern::poisson},
                                                                          {"bursty", sim::arrival_pattern::bursty},
                                                                          {"diurnal", sim::arrival_pattern::diurnal}};
constexpr double cpu_jobs_per_hour = 200;  // they take seconds: less often they would not meet

template <class T, std::size_t N>
[[nodiscard]] result<void, diagnostic> choose(std::string_view what, std::string_view word,
                                              std::pair<std::string_view, T> const (&from)[N], T& into) {
    std::vector<std::string_view> names;
    for (auto const& [name, value] : from) {
        if (name == word) {
            into = value;
            return {};
        }
        names.push_back(name);
    }
    return diagnostic{.text = fmt::format("there {} {}{}", what, program::quoted(word), suggestion(word, names))};
}

/// Takes "jobs=200" in.
[[nodiscard]] result<void, diagnostic> take_generator_key(std::string_view text, sim::generator_options& into) {
    std::size_t const equals = std::min(text.find('='), text.size());
    auto const key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    if (key == "jobs") {
        auto const jobs = whole_number(value, most_streamed_jobs);
        if (!jobs)
            return diagnostic{.text = fmt::format("jobs is a whole number from 1 to {}, not {}", most_streamed_jobs,
                                                  program::quoted(value))};
        into.jobs = static_cast<std::size_t>(*jobs);
        return {};
    }
    if (key == "per_hour") {
        auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), into.jobs_per_hour);
        bool const good = failed == std::errc{} && end == value.data() + value.size() && into.jobs_per_hour >= 0.001 &&
                          into.jobs_per_hour <= 1e6;
        if (good) return {};
        return diagnostic{.text = "per_hour is a number of jobs from 0.001 to 1000000, not " + program::quoted(value)};
    }
    if (key == "arrivals") return choose("are no arrivals", value, patterns, into.arrivals);
    return diagnostic{.text = fmt::format("there is nothing called {} to set{}", program::quoted(key),
                                          suggestion(key, {"jobs", "per_hour", "arrivals"}))};
}

[[nodiscard]] std::string no_devices(std::string_view who) {
    return fmt::format(
        "{} devices, and --cluster has none: write 1x4 for a node with 4 of them, or 1x4+8cores for one with cores too",
        who);
}
[[nodiscard]] std::string no_cores(std::string_view who) {
    return fmt::format(
        "{} on processors, and --cluster has none: write 1x8cores for a node with 8 of them, or 1x4+8cores for one with devices too",
        who);
}

/// Rigid jobs that fit the cluster.
[[nodiscard]] sim::rigid_options restrictions_of(sim::cluster const& machines) {
    return {.most_devices = std::min<std::int64_t>(devices_of(machines), 32)};
}

[[nodiscard]] sim::workload make(generated const& what, sim::model_library const& library,
                                 sim::cluster const& machines) {
    std::int64_t const devices = devices_of(machines);
    switch (what.of) {
        case generated::kind::rigid: return make_rigid(what.how, restrictions_of(machines));
        case generated::kind::scaling:
            return make_scaling(what.how, {.most_devices = std::min<std::int64_t>(devices, 16)});
        case generated::kind::profiled: return make_profiled(what.how, library);
        case generated::kind::serving: return make_serving(what.how, std::clamp<std::int64_t>(devices, 2, 8));
        case generated::kind::cpu: break;
    }
    return make_cpu(what.how, library);
}

/// Jobs that each run makes one after another.
void generate_streams(simulation_options const& options, generated what, simulation_input& input,
                      diagnostics& problems) {
    if (!options.faults.empty())
        return problems.add(
            {.file = "--faults",
             .text = fmt::format("the end of {} jobs is not known before the run: generate at most {} jobs",
                                 what.how.jobs, most_kept_jobs)});
    auto const only = restrictions_of(input.machines);
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
        what.how.seed = seed;
        input.samples.push_back({.jobs = sim::rigid_source(what.how, only).kinds(),
                                 .seed = seed,
                                 .needs = {},
                                 .bounds = {},
                                 .stream = generated_stream{what.how, only}});
    }
    input.remarks.push_back(remark_on_streams());
}

void generate(simulation_options const& options, sim::model_library const& library, simulation_input& input,
              diagnostics& problems) {
    auto const parsed = parse_generator(options.generate);
    if (!parsed) return problems.add(in_file("--generate", parsed.failure()));
    auto what = *parsed;
    bool const cpu = what.of == generated::kind::cpu;
    if (!cpu && devices_of(input.machines) == 0)
        return problems.add({.file = "--generate", .text = no_devices("these jobs need")});
    if (cpu && !(cores_of(input.machines) > 0))
        return problems.add({.file = "--generate", .text = no_cores("these jobs run")});
    if (what.how.jobs > most_kept_jobs) return generate_streams(options, what, input, problems);
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
        what.how.seed = seed;
        auto made = make(what, library, input.machines);
        if (made.jobs.empty() && cpu)
            return problems.add(
                {.file = "--generate",
                 .text =
                     "jobs on processors need fitted losses: name their file with --models, as in --models bench/data/loss/fits.csv"});
        if (made.jobs.empty())
            return problems.add(
                {.file = "--generate",
                 .text =
                     "profiled jobs need the measured profiles: name their folder with --models, as in --models bench/data/pollux"});
        input.samples.push_back({.jobs = std::move(made), .seed = seed, .needs = {}, .bounds = {}});
    }
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

/// Refuses jobs of a kind that the machines have nothing for.
[[nodiscard]] result<void, diagnostic> check_machines(sim::workload const& jobs, sim::cluster const& machines) {
    auto const cpu = std::ranges::count_if(jobs.jobs, [&](auto const& job) { return jobs.runs_on_cpu(job); });
    auto const all = std::ssize(jobs.jobs);
    if (cpu > 0 && !(cores_of(machines) > 0))
        return diagnostic{.text = no_cores(fmt::format("{} of the {} jobs of {} run", cpu, all, jobs.name))};
    if (cpu < all && devices_of(machines) == 0)
        return diagnostic{.text = no_devices(fmt::format("{} of the {} jobs of {} need", all - cpu, all, jobs.name))};
    return {};
}

/// The bound on all schedules, and the jobs that no schedule can run.
void find_bounds(simulation_input& input) {
    for (auto& s : input.samples) {
        if (s.stream) continue;
        s.needs = needs_of(s.jobs, input.machines);
        s.bounds = bounds_of(s.jobs, s.needs, input.machines);
        auto const too_large = std::ranges::count_if(s.needs, [](auto const& needs) { return !needs.possible(); });
        if (too_large > 0)
            input.remarks.push_back(
                fmt::format("{} of the {} jobs of {} need more devices than the cluster has, and are never started",
                            too_large, s.jobs.jobs.size(), s.jobs.name));
    }
}

}  // namespace

result<sim::cluster, diagnostic> parse_cluster(std::string_view text) {
    sim::cluster machines{.groups = {}, .types = {}};
    std::size_t nodes = 0;
    for (std::size_t from = 0; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (!add_group(text.substr(from, to - from), machines)) return bad_group(text.substr(from, to - from));
        nodes += machines.groups.back().nodes;
        from = to + 1;
    }
    if (nodes > most_nodes)
        return diagnostic{
            .text = fmt::format("the groups have {} nodes together, of {} that there may be", nodes, most_nodes)};
    return machines;
}

result<generated, diagnostic> parse_generator(std::string_view text) {
    generated made;
    std::size_t const colon = std::min(text.find(':'), text.size());
    if (auto const chosen = choose("is no kind of jobs", text.substr(0, colon), kinds, made.of); !chosen)
        return chosen.failure();
    if (made.of == generated::kind::cpu) made.how.jobs_per_hour = cpu_jobs_per_hour;
    for (std::size_t from = colon + 1; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (auto const taken = take_generator_key(text.substr(from, to - from), made.how); !taken)
            return taken.failure();
        from = to + 1;
    }
    if (made.how.jobs > most_kept_jobs && made.of != generated::kind::rigid)
        return diagnostic{.text =
                              fmt::format("{} are not the kind rigid, and {} of them are too many: write jobs=1 to {}",
                                          quoted(text.substr(0, colon)), made.how.jobs, most_kept_jobs)};
    return made;
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

/// A cache needs jobs that read, and not more tenants than a round can serve.
void check_reads(simulation_input const& input, diagnostics& problems) {
    constexpr std::size_t most_tenants = 1000;
    if (!input.cache) return;
    for (auto const& s : input.samples)
        if (s.stream || s.jobs.items.empty() || s.jobs.tenants.size() > most_tenants)
            return problems.add(
                {.file = "--cache",
                 .text = fmt::format("the jobs of {} read no data set, or are of more than {} tenants; "
                                     "name a trace with the columns data_set, data_bytes and read_bytes",
                                     quoted(s.jobs.name), most_tenants)});
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
    if (problems.empty()) find_bounds(input);
    if (problems.empty() && !options.faults.empty()) draw_faults(options, input, problems);
    return input;
}

}  // namespace ration::program
