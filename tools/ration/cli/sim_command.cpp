// SPDX-License-Identifier: BSL-1.0
#include "cli/sim_command.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <fmt/core.h>
#include <optional>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "report/page.hpp"
#include "report/simulation_page.hpp"
#include "sim/cost.hpp"
#include "sim/estimate_options.hpp"
#include "sim/fault_options.hpp"
#include "sim/generate.hpp"
#include "sim/input.hpp"
#include "sim/noise_options.hpp"
#include "sim/price_options.hpp"
#include "sim/progress.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

constexpr int most_seeds = 1000, most_threads = 4096;

constexpr auto notes_of_sim = R"(Examples:
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,srtf,las
  ration sim --generate rigid:jobs=1000,per_hour=20 --seeds 5 --cluster 16x4 --policy fifo,./libmine.so --report out.html
  ration sim --generate cpu --models bench/data/loss/fits.csv --seeds 5 --cluster 1x1core --policy none,equal_share,flowcon,tradl
  ration sim --trace workload-1.csv --models bench/data/pollux --cluster 16x4 --policy las,sia --set las.promote=0
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,las --faults crashes:every=200h --faults revocations:region=us-east1 --checkpoint 10m --seeds 5
  ration sim --trace jobs.csv --cluster 16x4 --policy fifo,srtf --noise remaining=0.5 --seeds 5
  ration sim --generate rigid --models bench/data/loss/fits.csv --cluster 16x4 --policy srtf --set srtf.unknown=first --estimate remaining
  ration sim --trace jobs.csv --cluster 8x4:v100,8x8:a100 --policy fifo --json | head -1 | jq '.policies[].figures.mean_jct'

docs/sim.md defines every figure. Exit codes: 0 all went well; 1 a policy made a grant that the rules do not allow, gave no answer, or left
jobs waiting forever; 2 wrong command line or file; 5 an error in ration.)";

[[nodiscard]] result<void, diagnostic> check_faults(std::string_view word) {
    sim::fault_rates nothing;
    return add_fault_kind(word, nothing);
}

[[nodiscard]] result<void, diagnostic> check_noise(std::string_view word) {
    sim::prediction_noise nothing;
    return add_noise(word, nothing);
}

[[nodiscard]] result<void, diagnostic> check_time(std::string_view word) {
    if (parse_sim_time(word)) return {};
    return diagnostic{.text = program::quoted(word) +
                              " is not a time: write seconds, or a number with ms, s, m or h, up to 365 days"};
}

/// Written out, since CLI11's own range lets "nan" pass.
[[nodiscard]] result<void, diagnostic> check_share(std::string_view word) {
    double share = 0;
    auto const [end, failed] = std::from_chars(word.data(), word.data() + word.size(), share);
    bool const whole = failed == std::errc{} && end == word.data() + word.size();
    if (whole && share >= 0 && share <= 0.99) return {};
    return diagnostic{.text = program::quoted(word) + " is not a share: write a number from 0 to 0.99"};
}

[[nodiscard]] result<void, diagnostic> check_on_bad_grant(std::string_view word) {
    if (word == "go-on" || word == "stop") return {};
    return diagnostic{.text = "it may be go-on or stop, not " + program::quoted(word) +
                              suggestion(word, {"go-on", "stop"})};
}

/// `Time`: nanoseconds, also optional.
template <class Time>
CLI::Option* add_time(CLI::App& to, char const* name, Time& into, char const* help) {
    return to
        .add_option_function<std::string>(
            name, [&into](std::string const& word) { into = *parse_sim_time(word); }, help)
        ->type_name("SECONDS")
        ->check(checked_by(check_time));
}

CLI::Option* add_list(CLI::App& to, char const* name, std::vector<std::string>& into, char const* help) {
    return to.add_option(name, into, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1);
}

struct time_unit_word {
    std::string_view word;
    double seconds;
};
constexpr time_unit_word time_units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};

[[nodiscard]] result<void, diagnostic> check_time_unit(std::string_view word) {
    if (std::ranges::find(time_units, word, &time_unit_word::word) != std::end(time_units)) return {};
    return diagnostic{.text = program::quoted(word) + " is not a unit of time: write ms, s, m or h"};
}

void add_time_unit(CLI::App& to, simulation_options& into, option_context& context) {
    auto* const unit = to.add_option_function<std::string>(
        "--time-unit",
        [&into](std::string const& word) {
            into.time_unit = std::ranges::find(time_units, word, &time_unit_word::word)->seconds;
        },
        "Unit of the times of traces, instead of that of their format: ms, s, m or h");
    unit->type_name("UNIT")->check(checked_by(check_time_unit));
    for (auto const& one : time_units) context.offers[unit].words.emplace_back(one.word);
}

void add_input(CLI::App& to, simulation_options& into, option_context& context) {
    add_list(to, "--trace", into.traces, "A file with jobs; each named file is a separate sample")->type_name("FILE");
    to.add_option("--format", into.format,
                  "Of the traces, instead of what their first lines say; docs/sim.md lists them")
        ->type_name("NAME");
    add_time_unit(to, into, context);
    to.add_option("--generate", into.generate,
                  "Jobs that are made up: rigid, scaling, profiled, cpu, serving or phases")
        ->type_name("KIND[:KEY=VALUE,...]")
        ->check(checked_by(parse_generator));
    add_list(to, "--models", into.models,
             "What traces name: a folder with measured profiles, or a file with measured rates or fitted losses")
        ->type_name("PATH");
    to.add_option(
          "--interference", into.interference,
          "Part of its speed that a profiled job on several nodes loses while another such job is on one of them")
        ->type_name("SHARE")
        ->check(checked_by(check_share));
    to.add_option(
          "--cluster", into.cluster,
          "Nodes x devices of each, and the name of their type: 16x4, or 8x4:v100,8x8:a100; nodes with cores: 1x8cores, or 2x4+8cores")
        ->required()
        ->type_name("NxD[:TYPE],...")
        ->check(checked_by(parse_cluster));
}

[[nodiscard]] result<void, diagnostic> check_size(std::string_view word) {
    if (parse_size(word)) return {};
    return diagnostic{.text = program::quoted(word) +
                              " is not a size: write a number with B, KiB, MiB, GiB, TiB, kB, MB, "
                              "GB or TB"};
}

void add_cache(CLI::App& to, simulation_options& into) {
    auto* const cache = to.add_option_function<std::string>(
        "--cache", [&into](std::string const& word) { into.cache = parse_size(word); },
        "Memory for the data sets that jobs read, shared among tenants by shared_cache; prints figures of each tenant");
    cache->type_name("SIZE")->check(checked_by(check_size));
    to.add_option_function<std::string>(
          "--storage", [&into](std::string const& word) { into.storage = *parse_size(word); },
          "What a job reads in a second of a data set that is not cached; default 100MB")
        ->type_name("SIZE")
        ->check(checked_by(check_size))
        ->needs(cache);
}

void add_tenants(CLI::App& to, simulation_options& into) {
    to.add_option("--tenants", into.tenants,
                  "A file with [[tenant]] and half_life, as in a jobs file; prints figures of each tenant")
        ->type_name("FILE");
}

void add_policies(CLI::App& to, simulation_options& into, option_context& context) {
    auto* const policy =
        add_list(to, "--policy", into.policies, "Names of policies, or paths of a .so; 'ration policies' lists them");
    context.offers[policy] = {.words = context.policies, .plugins = true};
    policy->required()->delimiter(',')->type_name("A,B")->check(policy_check(context));
    add_setting_option(to, into.settings, "A parameter of a policy, as in las.promote=0");
    auto* const bad = to.add_option_function<std::string>(
        "--on-bad-grant", [&into](std::string const& word) { into.stop_at_bad_grant = word == "stop"; },
        "go-on with those grants that pass, or stop");
    bad->type_name("WORD")->check(checked_by(check_on_bad_grant));
    context.offers[bad] = {.words = {"go-on", "stop"}};
}

void add_times_and_faults(CLI::App& to, simulation_options& into, option_context& context) {
    auto* const noise =
        add_list(to, "--noise", into.noise,
                 "Standard deviation of the logarithm of an error, by which policies read a prediction");
    noise->delimiter(',')->type_name("COLUMN=SIGMA")->check(checked_by(check_noise));
    for (auto const column : sim::predicted_columns)
        context.offers[noise].words.push_back(std::string(column.substr(column.find('/') + 1)) + '=');
    auto* const estimate = add_list(to, "--estimate", into.estimates,
                                    "Predictions that policies read as a live host would estimate them, beside the "
                                    "same runs with the exact ones: remaining, speed, duration, phases");
    estimate->delimiter(',')->type_name("A,B")->check(checked_by(check_estimate));
    context.offers[estimate] = {.words = {estimator_names.begin(), estimator_names.end()}};
    add_time(
        to, "--interval", into.interval,
        "Ask policies at every multiple of this time too, besides when a job comes or ends; 60 when left out, 0 = never");
    add_list(to, "--faults", into.faults, "What goes wrong: losses, revocations, crashes or stragglers")
        ->type_name("KIND[:KEY=VALUE,...]")
        ->check(checked_by(check_faults));
    add_list(to, "--price", into.prices,
             "Price of a device for an hour, and on a transient server, which --faults revocations makes of all")
        ->type_name("TYPE=ON_DEMAND[,TRANSIENT]")
        ->check(checked_by(parse_price));
    add_time(to, "--checkpoint", into.checkpoint,
             "Time between two saves of a job, which are what a fault leaves it; 0 when left out");
    add_time(to, "--save", into.save, "Time that each save takes from the job; 0 when left out")->needs("--checkpoint");
}

void add_runs_and_output(CLI::App& to, simulation_options& into) {
    to.add_option(
          "--seeds", into.seeds,
          "How many workloads are made up, from the seeds 1 to N, or how often a trace is run that leaves something to chance")
        ->type_name("N")
        ->check(CLI::Range(1, most_seeds));
    add_time(to, "--until", into.until, "End every run at this simulated time");
    to.add_option("--threads", into.threads, "How many runs at the same time; one for each core when left out")
        ->type_name("N")
        ->check(CLI::Range(1, most_threads));
    to.add_option("--report", into.report, "Write an HTML page with charts into this file; what was in it is lost")
        ->type_name("FILE");
    to.add_flag("--json", into.json,
                "The figures as JSON on standard output, in one line, and what was measured in another");
    to.add_flag("--quiet", into.quiet, "No progress on standard error");
}

[[nodiscard]] exit_code refuse(diagnostics const& problems) {
    print_to_stderr(problems, "ration: ");
    return exit_code::bad_input;
}

[[nodiscard]] std::vector<simulated_run> run_with_progress(simulation_options const& options,
                                                           simulation_input const& input) {
    runs_progress progress;
    progress.runs = options.policies.size() * input.samples.size();
    for (auto const& s : input.samples) progress.jobs += s.size() * options.policies.size();
    std::optional<progress_view> view;
    if (!options.quiet) view.emplace(progress);
    return run_all(options, input, progress);
}

[[nodiscard]] bool write_report(simulation_results const& all) {
    if (!has_charts() && !all.options.quiet)
        std::fprintf(stderr, "ration: %s\n", std::string(how_to_get_charts).c_str());
    return write_page(report_html(all), all.options.report, "--report");
}

[[nodiscard]] bool went_well(simulated_run const& run) noexcept {
    bool const ended = run.outcome.how == sim::ending::all_done || run.outcome.how == sim::ending::time_limit;
    return run.failure.empty() && ended && !run.outcome.first_bad && !run.lost;
}

}  // namespace

void add_options(CLI::App& to, simulation_options& into, option_context& context) {
    to.footer(notes_of_sim);
    add_input(to, into, context);
    add_tenants(to, into);
    add_cache(to, into);
    add_policies(to, into, context);
    add_times_and_faults(to, into, context);
    add_runs_and_output(to, into);
}

exit_code simulate(simulation_options const& given) {
    simulation_options options = given;
    diagnostics problems;
    auto input = read_simulation(options, problems);
    if (!problems.empty()) return refuse(problems);
    auto policies = try_policies(options, input, problems);
    if (problems.empty()) compare_with_exact(options, input, policies, problems);
    if (!problems.empty()) return refuse(problems);
    if (!options.quiet)
        for (auto const& sentence : long_runs(options, input, policies))
            std::fprintf(stderr, "ration: %s\n", sentence.c_str());
    simulation_results const all{options, input, std::move(policies), run_with_progress(options, input)};
    for (auto const& policy : given.policies) print_to_stderr(policy_log::common_to(policy), policy);
    if (options.json)
        fmt::print("{}\n{}\n", table_json(all), measured_json(all));
    else
        fmt::print("{}\n{}", table_text(all), measured_text(all));
    if (!options.report.empty() && !write_report(all)) return exit_code::bad_input;
    if (std::ranges::any_of(all.runs, [&](auto const& run) { return exceeds_clock(options, run.outcome); }))
        return exit_code::bad_input;
    for (auto const& run : all.runs)
        if (!went_well(run)) return exit_code::policy_failed;
    return exit_code::ok;
}

}  // namespace ration::program
