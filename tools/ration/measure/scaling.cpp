// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/speedup_edit.hpp"
#include "measure/jobs_file.hpp"
#include "measure/private_runs.hpp"
#include "measure/refusal.hpp"
#include "measure/scaling_output.hpp"
#include "measure/scaling_plan.hpp"
#include "policies/policy_registry.hpp"

namespace ration::program {
namespace {

/// All launches of one measurement.
class scaling_measurement {
    scaling_options const& options_;
    run_config const& config_;  // of `measured_config`
    private_runs& runs_;

public:
    scaling_measurement(scaling_options const& options, run_config const& config, private_runs& runs)
        : options_(options), config_(config), runs_(runs) {}

    /// Measures each size once in each round. Every second round has the reverse order, so that a change of the machine
    /// over time affects all sizes alike. Returns early after an interrupt. Errors: those of `private_runs::launch`.
    [[nodiscard]] result<void> measure(std::vector<measured_size>& sizes) {
        for (std::uint32_t round = 1; round <= options_.repeat; ++round) {
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                auto& size = sizes[round % 2 == 1 ? i : sizes.size() - 1 - i];
                if (!size.failure.empty()) continue;
                if (auto done = measure_once(size); !done) return done;
                if (runs_.interrupted()) return {};
                report(size, round);
            }
        }
        return {};
    }

private:
    [[nodiscard]] result<void> measure_once(measured_size& size) {
        run_config config = config_;
        auto wants = elastic_of(config.jobs.front());
        wants.devices = {size.devices, size.devices};
        config.jobs.front().elastic = wants;
        scaling_probe probe({options_.warm_up, options_.time}, wants.deadlines.start);
        auto const ended = runs_.launch(config, probe);
        if (!ended) return ended.failure();
        take(probe, ended->jobs.front(), size);
        return {};
    }

    void take(scaling_probe const& probe, job_summary const& job, measured_size& size) const {
        auto const expected = runs_.devices().of_shares() ? 1 : size.devices;
        if (probe.ranks() > 0 && probe.ranks() != expected)
            size.note = fmt::format("it reports {} process{}; ration.ranks or {{devices}} starts one for each device",
                                    probe.ranks(), probe.ranks() == 1 ? "" : "es");
        if (probe.window().complete())
            size.launches.push_back({.steps_per_second = probe.window().rate(), .batch = probe.batch()});
        else
            size.failure = failure_of(probe, job);
    }

    void report(measured_size const& size, std::uint32_t round) const {
        auto const outcome = size.failure.empty() ? fmt::format("{:.4g} steps/s", size.launches.back().steps_per_second)
                                                  : printable(size.failure);
        std::fputs(fmt::format("round {} of {}, {}: {}\n", round, options_.repeat, devices_text(size.devices), outcome)
                       .c_str(),
                   stderr);
    }
};

[[nodiscard]] exit_code check_sizes(std::vector<std::int64_t> const& sizes, std::int64_t most, job_config const& job) {
    if (sizes.back() > most)
        return refuse(exit_code::no_backend,
                      {.file = "--devices",
                       .text = fmt::format("job {} can have {} here, not {}; leave the larger numbers out",
                                           quoted(job.name), devices_text(most), sizes.back())});
    if (sizes.size() < 2)
        return fail(exit_code::no_backend,
                    fmt::format("job {} can have {} here, which has nothing to compare with; measure it on a machine "
                                "with more devices",
                                quoted(job.name), devices_text(most)));
    return exit_code::ok;
}

/// What --write would change is tried before the first launch, with a list of the same length.
[[nodiscard]] result<void, diagnostic> check_write(run_config const& config, std::size_t job, std::int64_t most) {
    std::vector<double> const list(static_cast<std::size_t>(most) + 1, 0);
    if (auto const edited = with_speedup(config.source, job, list); !edited)
        return diagnostic{
            .file = config.file,
            .text = fmt::format("--write cannot change it: {}; put the list into it yourself", edited.failure().text)};
    return check_replaceable(config.file);
}

[[nodiscard]] exit_code write_list(run_config const& config, std::size_t job, scaling_result const& all) {
    auto const edited = with_speedup(config.source, job, speedup_list(all));
    auto const written = edited ? replace_jobs_file(config.file, config.source, *edited) : edited.failure();
    if (!written) return refuse_file(exit_code::bad_input, written.failure());
    std::fputs(printable(fmt::format("{}: job '{}' has the new speedup", config.file, all.job)).append("\n").c_str(),
               stderr);
    return exit_code::ok;
}

[[nodiscard]] exit_code finish(scaling_options const& options, run_config const& config, std::size_t job,
                               scaling_result const& all) {
    auto const text = options.json ? scaling_json(all) + '\n' : scaling_text(all);
    std::fputs(text.c_str(), stdout);
    if (has_failure(all) && options.write)
        return refuse_file(
            exit_code::job_failed,
            {.file = config.file, .text = "not changed, because a size failed; name the others by --devices"});
    if (has_failure(all)) return exit_code::job_failed;
    return options.write ? write_list(config, job, all) : exit_code::ok;
}

[[nodiscard]] exit_code measure_sizes(scaling_options const& options, run_config const& config, std::size_t job,
                                      host_devices const& devices, scaling_result all) {
    return with_private_runs(devices, [&](private_runs& runs) {
        auto const measured = measured_config(config, job);
        scaling_measurement measurement(options, measured, runs);
        if (auto const done = measurement.measure(all.sizes); !done)
            return fail(exit_code::no_backend, to_text(done.failure()));
        if (runs.interrupted()) return fail(exit_code::interrupted, "interrupted; the job was stopped");
        return finish(options, config, job, all);
    });
}

[[nodiscard]] result<std::vector<std::int64_t>, diagnostic> sizes_of(scaling_options const& options,
                                                                     job_config const& job, std::int64_t most) {
    if (!options.devices.empty()) return chosen_sizes(options, job);
    return default_sizes(elastic_of(job).devices.minimum, most);
}

[[nodiscard]] exit_code measure_job(scaling_options const& options, run_config const& config, std::size_t number) {
    auto const& job = config.jobs[number];
    auto const alone = measured_config(config, number);
    auto const absent = missing_files(alone);
    print_to_stderr(absent);
    if (!absent.empty()) return exit_code::bad_input;
    auto const devices = find_devices(alone);
    if (!devices) return exit_code::no_backend;
    auto const most = most_devices(job, *devices);
    auto const sizes = sizes_of(options, job, most);
    if (!sizes) return refuse(exit_code::bad_input, sizes.failure());
    if (auto const code = check_sizes(*sizes, most, job); code != exit_code::ok) return code;
    if (options.write)
        if (auto const possible = check_write(config, number, most); !possible)
            return refuse_file(exit_code::bad_input, possible.failure());
    scaling_result all{.file = options.file, .job = job.name, .most = most, .sizes = {}};
    for (auto const size : *sizes) all.sizes.push_back({.devices = size});
    return measure_sizes(options, config, number, *devices, std::move(all));
}

}  // namespace

exit_code measure_scaling(scaling_options const& options) {
    auto const read = load_config(options.file, {.policies = policy_names(), .policy_given = true});
    print_to_stderr(read.problems);
    if (!read.problems.empty()) return exit_code::bad_input;
    auto const job = choose_job(read.config, options.job);
    if (!job) return refuse_file(exit_code::bad_input, job.failure());
    return measure_job(options, read.config, *job);
}

}  // namespace ration::program
