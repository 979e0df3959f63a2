// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include <ration/process/cpus.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/speedup_edit.hpp"
#include "measure/jobs_file.hpp"
#include "measure/scaling_output.hpp"
#include "measure/scaling_plan.hpp"
#include "measure/scaling_probe.hpp"
#include "measure/scratch_folder.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"
#include "run/one_run.hpp"

namespace ration::program {
namespace {

/// A wrong option.
[[nodiscard]] exit_code refuse(exit_code code, diagnostic const& why) { return fail(code, to_text(why)); }

/// A sentence on the jobs file, whose place begins the line.
[[nodiscard]] exit_code refuse_file(exit_code code, diagnostic const& why) {
    diagnostics problems;
    problems.add(why);
    print_to_stderr(problems);
    return code;
}

/// All launches of one measurement. Each is a run with its own groups, sockets and folder.
class scaling_measurement {
    scaling_options const& options_;
    run_config const& config_;  // of `measured_config`
    host_devices const& devices_;
    scratch_folder const& scratch_;
    stop_signals& signals_;
    reporter& out_;
    run_options run_options_;
    machine_topology topology_;
    rlimit open_files_;
    bool interrupted_ = false;

public:
    scaling_measurement(scaling_options const& options, run_config const& config, host_devices const& devices,
                        scratch_folder const& scratch, stop_signals& signals, reporter& out)
        : options_(options), config_(config), devices_(devices), scratch_(scratch), signals_(signals), out_(out),
          topology_(topology_for(devices)), open_files_(raise_open_files()) {}

    /// Measures each size once in each round. Every second round has the reverse order, so that a change of the machine
    /// over time affects all sizes alike. Errors: those of `open_resources` and `run_one`.
    [[nodiscard]] result<void> measure(std::vector<measured_size>& sizes) {
        for (std::uint32_t round = 1; round <= options_.repeat; ++round) {
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                auto& size = sizes[round % 2 == 1 ? i : sizes.size() - 1 - i];
                if (!size.failure.empty()) continue;
                if (auto done = measure_once(size); !done) return done;
                if (interrupted_ || signals_.read() > 0) {
                    interrupted_ = true;
                    return {};
                }
                report(size, round);
            }
        }
        return {};
    }
    [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

private:
    [[nodiscard]] result<void> measure_once(measured_size& size) {
        run_config config = config_;
        auto wants = elastic_of(config.jobs.front());
        wants.devices = {size.devices, size.devices};
        config.jobs.front().elastic = wants;
        auto const folder = new_folder();
        if (!folder) return folder.failure();
        run_policies policies(config, config.policy);
        run_session const session{.options = run_options_,
                                  .config = config,
                                  .out = out_,
                                  .signals = signals_,
                                  .devices = devices_,
                                  .topology = topology_,
                                  .open_files = open_files_,
                                  .slots = 1};
        auto opened = open_resources(session);
        if (!opened) return opened.failure();
        planned_run const planned{.choice = {.policy = config.policy, .label = config.policy}, .folder = {}};
        scaling_probe probe({options_.warm_up, options_.time}, wants.deadlines.start);
        auto const ended = run_one(session, *opened, {config, planned, policies, probe, *folder}, [](auto&) {});
        if (!ended) return ended.failure();
        interrupted_ = ended->interrupted;
        take(probe, ended->jobs.front(), size);
        return {};
    }

    /// An empty folder for the next launch, which starts from its first step and reads no output of an earlier one.
    [[nodiscard]] result<std::string> new_folder() const {
        auto const folder = scratch_.path() + "/launch";
        std::error_code failure;
        std::filesystem::remove_all(folder, failure);
        if (!failure) std::filesystem::create_directory(folder, failure);
        if (!failure) return folder;
        return process::system_error("make the folder for a launch", folder, failure.value(),
                                     "set TMPDIR to a folder that you can write to");
    }

    void take(scaling_probe const& probe, job_summary const& job, measured_size& size) const {
        auto const expected = devices_.of_shares() ? 1 : size.devices;
        if (probe.ranks() > 0 && probe.ranks() != expected)
            size.note = fmt::format("it reports {} process{}; ration.ranks or {{devices}} starts one for each device",
                                    probe.ranks(), probe.ranks() == 1 ? "" : "es");
        if (probe.window().complete())
            size.launches.push_back({.steps_per_second = probe.window().rate(), .batch = probe.batch()});
        else if (auto const timeout = probe.timeout(); !timeout.empty())
            size.failure = timeout;
        else if (job.how == condition::finished)
            size.failure = fmt::format(
                "it finished at step {}, before its speed was known; let it train longer, or "
                "shorten --time and --warm-up",
                job.step);
        else
            size.failure = fmt::format("it {}: {}", name_of(job.how), job.why);
    }

    void report(measured_size const& size, std::uint32_t round) const {
        auto const outcome = size.failure.empty() ? fmt::format("{:.4g} steps/s", size.launches.back().steps_per_second)
                                                  : printable(size.failure);
        std::fputs(fmt::format("round {} of {}, {}: {}\n", round, options_.repeat, devices_text(size.devices), outcome)
                       .c_str(),
                   stderr);
    }
};

/// Refuses to measure beside jobs of a killed run, which still use devices.
[[nodiscard]] result<void> check_no_orphans() {
    auto const found = find_orphaned_runs();
    if (!found) return found.failure();
    if (std::ranges::all_of(*found, [](orphaned_run const& run) { return run.alive.empty(); })) return {};
    return error_of_alive(*found, "ration run --reattach takes them over, ration clean ends them");
}

/// The devices that the job can have here.
[[nodiscard]] std::int64_t most_devices(job_config const& job, host_devices const& devices) {
    auto const& wants = elastic_of(job);
    auto const there = wants.gpu_memory.count > 0 ? devices.with_memory(wants.gpu_memory) : std::ssize(devices.names());
    return std::min<std::int64_t>(there, wants.devices.maximum);
}

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
    auto signals = stop_signals::open();
    if (!signals) return fail(exit_code::internal, to_text(signals.failure()));
    if (auto const free = check_no_orphans(); !free) return fail(exit_code::no_backend, to_text(free.failure()));
    auto const scratch = scratch_folder::make();
    if (!scratch) return fail(exit_code::no_backend, to_text(scratch.failure()));
    run_options quiet;
    quiet.quiet = true;
    auto out = reporter::open(quiet);
    if (!out) return fail(exit_code::internal, to_text(out.failure()));
    auto const measured = measured_config(config, job);
    scaling_measurement measurement(options, measured, devices, *scratch, *signals, *out);
    if (auto const done = measurement.measure(all.sizes); !done)
        return fail(exit_code::no_backend, to_text(done.failure()));
    out->close();
    if (measurement.interrupted()) return fail(exit_code::interrupted, "interrupted; the job was stopped");
    return finish(options, config, job, all);
}

/// The devices of the machine for the chosen job. Prints what is missing, and returns none.
[[nodiscard]] std::optional<host_devices> find_devices(run_config const& config) {
    auto devices = host_devices::find(config);
    std::int64_t const here = process::cpu_set::of_thread(0).size();
    std::int64_t const cpus = std::min<std::int64_t>(here, config.cpus.value_or(static_cast<std::uint32_t>(here)));
    auto const missing = missing_devices(config, devices, millicores{1000 * cpus});
    print_to_stderr(missing);
    return missing.empty() ? std::optional(std::move(devices)) : std::nullopt;
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
