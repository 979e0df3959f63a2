// SPDX-License-Identifier: BSL-1.0
#include "sim/generate.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include <ration/sim/needs.hpp>
#include <ration/sim/phase_generator.hpp>

#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "sim/traces.hpp"

namespace ration::program {
namespace {

constexpr std::pair<std::string_view, generated::kind> kinds[] = {
    {"rigid", generated::kind::rigid}, {"scaling", generated::kind::scaling}, {"profiled", generated::kind::profiled},
    {"cpu", generated::kind::cpu},     {"serving", generated::kind::serving}, {"phases", generated::kind::phases}};
constexpr std::pair<std::string_view, sim::arrival_pattern> patterns[] = {{"poisson", sim::arrival_pattern::poisson},
                                                                          {"bursty", sim::arrival_pattern::bursty},
                                                                          {"diurnal", sim::arrival_pattern::diurnal}};
constexpr double cpu_jobs_per_hour = 200;  // they take seconds: less often they would not meet
constexpr std::size_t most_data_sets = 1000;

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
    return diagnostic{.text = fmt::format("unknown {} {}{}", what, program::quoted(word), suggestion(word, names))};
}

/// Takes "jobs=200" in.
[[nodiscard]] result<void, diagnostic> take_generator_key(std::string_view text, generated& made) {
    auto& into = made.how;
    std::size_t const equals = std::min(text.find('='), text.size());
    auto const key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    if (key == "jobs") {
        auto const jobs = parse_count(value, most_streamed_jobs);
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
    if (key == "data_sets") {
        auto const count = parse_count(value, most_data_sets);
        if (!count)
            return diagnostic{.text = fmt::format("data_sets is a whole number from 1 to {}, not {}", most_data_sets,
                                                  program::quoted(value))};
        made.data_sets = static_cast<std::size_t>(*count);
        return {};
    }
    if (key == "arrivals") return choose("arrival pattern", value, patterns, into.arrivals);
    return diagnostic{.text = fmt::format("unknown option {}{}", program::quoted(key),
                                          suggestion(key, {"jobs", "per_hour", "arrivals", "data_sets"}))};
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
        case generated::kind::phases: return sim::make_phased(what.how);
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

}  // namespace

result<generated, diagnostic> parse_generator(std::string_view text) {
    generated made;
    std::size_t const colon = std::min(text.find(':'), text.size());
    if (auto const chosen = choose("kind of jobs", text.substr(0, colon), kinds, made.of); !chosen)
        return chosen.failure();
    if (made.of == generated::kind::cpu) made.how.jobs_per_hour = cpu_jobs_per_hour;
    for (std::size_t from = colon + 1; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (auto const taken = take_generator_key(text.substr(from, to - from), made); !taken) return taken.failure();
        from = to + 1;
    }
    if (made.how.jobs > most_kept_jobs && made.of != generated::kind::rigid)
        return diagnostic{.text =
                              fmt::format("{} are not the kind rigid, and {} of them are too many: write jobs=1 to {}",
                                          quoted(text.substr(0, colon)), made.how.jobs, most_kept_jobs)};
    return made;
}

void generate(simulation_options const& options, sim::model_library const& library, simulation_input& input,
              diagnostics& problems) {
    auto const parsed = parse_generator(options.generate);
    if (!parsed) return problems.add(in_file("--generate", parsed.failure()));
    auto what = *parsed;
    bool const cpu = what.of == generated::kind::cpu || what.of == generated::kind::phases;
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
        if (what.data_sets > 0) sim::add_data_sets(made, what.data_sets, seed);
        input.samples.push_back({.jobs = std::move(made), .seed = seed, .needs = {}, .bounds = {}});
    }
}

result<void, diagnostic> check_machines(sim::workload const& jobs, sim::cluster const& machines) {
    auto const cpu = std::ranges::count_if(jobs.jobs, [&](auto const& job) { return jobs.runs_on_cpu(job); });
    auto const all = std::ssize(jobs.jobs);
    if (cpu > 0 && !(cores_of(machines) > 0))
        return diagnostic{.text = no_cores(fmt::format("{} of the {} jobs of {} run", cpu, all, jobs.name))};
    if (cpu < all && devices_of(machines) == 0)
        return diagnostic{.text = no_devices(fmt::format("{} of the {} jobs of {} need", all - cpu, all, jobs.name))};
    return {};
}

}  // namespace ration::program
