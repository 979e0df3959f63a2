// SPDX-License-Identifier: BSL-1.0
#include "measure/tune.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/ranges.h>
#include <utility>

#include <ration/assert.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "config/parameters.hpp"
#include "measure/jobs_file.hpp"
#include "measure/private_runs.hpp"
#include "measure/refusal.hpp"
#include "measure/scaling_plan.hpp"
#include "measure/tune_result.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

[[nodiscard]] parsed_config parse_jobs(std::string text, std::string file) {
    return parse_config(std::move(text), std::move(file), {.policies = policy_names(), .policy_given = true});
}

/// A setting as values of the jobs file.
[[nodiscard]] std::vector<launch_parameter> values_of(std::vector<parameter_values> const& space,
                                                      parameter_setting const& one) {
    std::vector<launch_parameter> out;
    out.reserve(space.size());
    for (std::size_t i = 0; i < space.size(); ++i) out.emplace_back(space[i].name, one[i]);
    return out;
}

/// The job that --job names, or the only one with parameters.
[[nodiscard]] result<std::size_t, diagnostic> choose_tuned_job(run_config const& config, std::string const& name) {
    std::vector<std::string_view> names, tunable;
    for (std::size_t i = 0; i < config.jobs.size(); ++i) {
        names.emplace_back(config.jobs[i].name);
        if (!launch_parameters_of(config.source, i).empty()) tunable.emplace_back(config.jobs[i].name);
    }
    if (!name.empty() && std::ranges::find(names, name) == names.end())
        return diagnostic{.file = config.file,
                          .text = fmt::format("job {} is unknown{}", quoted(name), suggestion(name, names))};
    auto const wanted = !name.empty() ? std::string_view(name) : tunable.size() == 1 ? tunable.front() : "";
    auto const found = std::ranges::find(tunable, wanted);
    if (found != tunable.end()) return static_cast<std::size_t>(std::ranges::find(names, wanted) - names.begin());
    if (!name.empty() || tunable.empty())
        return diagnostic{.file = config.file,
                          .text = fmt::format("{} has no parameters; add parameters = {{ threads = 1 }} to it, and "
                                              "{{threads}} to its command",
                                              name.empty() ? "every job" : "job " + quoted(name))};
    return diagnostic{.file = config.file,
                      .text = fmt::format("{} jobs have parameters; choose one by --job: {}", tunable.size(),
                                          fmt::join(tunable, ", "))};
}

/// The values that the options name, as settings behind the present one.
[[nodiscard]] result<tune_result, diagnostic> make_search(tune_options const& options, run_config const& config,
                                                          std::size_t job) {
    tune_result all{.file = options.file,
                    .job = config.jobs[job].name,
                    .space = {},
                    .settings = {},
                    .failures = {},
                    .ranking = {},
                    .repeat = options.repeat};
    auto const present = launch_parameters_of(config.source, job);
    std::vector<std::string_view> names;
    names.reserve(present.size());
    for (auto const& one : present) names.emplace_back(one.first);
    parameter_setting now;
    for (auto const& word : options.candidates) {
        auto one = *parse_parameter_values(word);
        auto const found = std::ranges::find(present, one.name, &launch_parameter::first);
        if (found == present.end())
            return diagnostic{.file = "--try",
                              .text = fmt::format("job {} has no parameter '{}'{}", quoted(all.job), one.name,
                                                  suggestion(one.name, names))};
        now.push_back(found->second);
        all.space.push_back(std::move(one));
    }
    std::vector<fit_rule> rules;
    rules.reserve(options.fit.size());
    for (auto const& word : options.fit) rules.push_back(*parse_fit_rule(word));
    auto settings = settings_of(all.space, rules);
    if (!settings) return settings.failure();
    std::erase(*settings, now);
    if (settings->empty())
        return diagnostic{.file = "--try", .text = "only the present setting fits; try other values too"};
    all.settings = {std::move(now)};
    all.settings.insert(all.settings.end(), settings->begin(), settings->end());
    all.fitting = all.settings.size();
    all.failures.resize(all.fitting);
    return all;
}

/// Launches the job with one setting after another, as the search asks for them.
class tune_measurement {
    tune_options const& options_;
    run_config const& config_;
    std::size_t job_;
    private_runs& runs_;
    tune_result& all_;
    successive_halving search_;
    std::size_t done_ = 0;

public:
    tune_measurement(tune_options const& options, run_config const& config, std::size_t job, private_runs& runs,
                     tune_result& all)
        : options_(options), config_(config), job_(job), runs_(runs), all_(all),
          search_(all.settings.size(), {.seed = options.seed, .runs = options.runs, .repeat = options.repeat}) {}

    /// Returns early after an interrupt. Errors: those of `private_runs::launch`.
    [[nodiscard]] result<void> measure() {
        while (auto const candidate = search_.next()) {
            auto const speed = measure_once(*candidate);
            if (!speed) return speed.failure();
            if (runs_.interrupted()) return {};
            report(*candidate, *speed);
            if (*speed > 0)
                search_.add(*speed);
            else
                search_.fail();
        }
        all_.ranking = search_.ranking();
        all_.runs = search_.runs();
        return {};
    }

private:
    /// The speed of one launch; 0 with a failure.
    [[nodiscard]] result<double> measure_once(std::size_t candidate) {
        auto& failure = all_.failures[candidate];
        auto text = with_launch_parameters(config_.source, job_, values_of(all_.space, all_.settings[candidate]));
        RATION_ASSERT(text, "the values of all parameters can be changed: tried before the search");
        auto read = parse_jobs(std::move(*text), config_.file);
        if (!read.problems.empty()) {
            failure = read.problems.front().text;
            return 0.0;
        }
        auto config = measured_config(std::move(read.config), job_);
        auto& job = config.jobs.front();
        if (job.elastic) {
            auto const most = most_devices(job, runs_.devices());
            job.elastic->devices = {most, most};
        }
        auto const deadlines = job.elastic ? job.elastic->deadlines : resize_deadlines{};
        scaling_probe probe({options_.warm_up, options_.time}, deadlines.start);
        auto const ended = runs_.launch(config, probe);
        if (!ended) return ended.failure();
        double const speed = probe.window().complete() ? speed_of(probe, failure) : 0.0;
        if (!probe.window().complete()) failure = failure_of(probe, ended->jobs.front());
        return failure.empty() ? speed : 0.0;
    }

    /// In samples per second if the first launch reported its batch, otherwise in steps per second.
    [[nodiscard]] double speed_of(scaling_probe const& probe, std::string& failure) {
        if (done_++ == 0) all_.samples = probe.batch() > 0;
        if (!all_.samples) return probe.window().rate();
        if (probe.batch() == 0) failure = "it reports no batch, and other settings do; report it in each step";
        return probe.window().rate() * static_cast<double>(probe.batch());
    }

    void report(std::size_t candidate, double speed) const {
        auto const outcome = speed > 0 ? fmt::format("{:.4g} {}/s", speed, all_.samples ? "samples" : "steps")
                                       : all_.failures[candidate];
        auto const line = fmt::format("round {}, {}: {}", search_.round(),
                                      setting_text(all_.space, all_.settings[candidate]), outcome);
        std::fputs(printable(line).append("\n").c_str(), stderr);
    }
};

[[nodiscard]] exit_code finish_search(tune_options const& options, run_config const& config, std::size_t job,
                                      tune_result const& all) {
    std::fputs((options.json ? tune_json(all) + '\n' : tune_text(all)).c_str(), stdout);
    auto const* const best = best_of(all);
    if (best == nullptr) return exit_code::job_failed;
    if (!options.write || best->index == 0) return exit_code::ok;
    auto const edited = with_launch_parameters(config.source, job, values_of(all.space, all.settings[best->index]));
    auto const written = edited ? replace_jobs_file(config.file, config.source, *edited) : edited.failure();
    if (!written) return refuse_file(exit_code::bad_input, written.failure());
    std::fputs(printable(fmt::format("{}: job '{}' has the new parameters", config.file, all.job)).append("\n").c_str(),
               stderr);
    return exit_code::ok;
}

/// Each value must be replaceable by each other one, since a launch reads the file with other values. One parameter
/// after another suffices: `with_launch_parameters` edits them in turn.
[[nodiscard]] result<void, diagnostic> check_edit(tune_options const& options, run_config const& config,
                                                  std::size_t job, tune_result const& all) {
    for (std::size_t i = 0; i < all.space.size(); ++i) {
        auto values = all.space[i].values;
        values.push_back(all.settings.front()[i]);
        for (auto const& value : values) {
            auto const edited = with_launch_parameters(config.source, job, {{all.space[i].name, value}});
            if (edited) continue;
            return diagnostic{
                .file = config.file,
                .text = fmt::format("its values cannot be replaced: {}; write parameters = {{ NAME = VALUE }}",
                                    edited.failure().text)};
        }
    }
    return options.write ? check_replaceable(config.file) : result<void, diagnostic>();
}

[[nodiscard]] exit_code search(tune_options const& options, run_config const& config, std::size_t job,
                               tune_result all) {
    auto const alone = measured_config(config, job);
    auto const absent = missing_files(alone);
    print_to_stderr(absent);
    if (!absent.empty()) return exit_code::bad_input;
    auto const devices = find_devices(alone);
    if (!devices) return exit_code::no_backend;
    return with_private_runs(*devices, [&](private_runs& runs) {
        tune_measurement measurement(options, config, job, runs, all);
        if (auto const done = measurement.measure(); !done) return fail(exit_code::no_backend, to_text(done.failure()));
        if (runs.interrupted()) return fail(exit_code::interrupted, "interrupted; the job was stopped");
        return finish_search(options, config, job, all);
    });
}

}  // namespace

exit_code measure_tune(tune_options const& options) {
    auto const read = load_config(options.file, {.policies = policy_names(), .policy_given = true});
    print_to_stderr(read.problems);
    if (!read.problems.empty()) return exit_code::bad_input;
    auto const job = choose_tuned_job(read.config, options.job);
    if (!job) return refuse_file(exit_code::bad_input, job.failure());
    auto all = make_search(options, read.config, *job);
    if (!all) return refuse(exit_code::bad_input, all.failure());
    if (auto const possible = check_edit(options, read.config, *job, *all); !possible)
        return refuse_file(exit_code::bad_input, possible.failure());
    return search(options, read.config, *job, std::move(*all));
}

}  // namespace ration::program
