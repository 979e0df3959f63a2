// SPDX-License-Identifier: BSL-1.0
#include "measure/private_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <system_error>
#include <utility>

#include <ration/process/cpus.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "measure/scaling_plan.hpp"
#include "run/descriptors.hpp"

namespace ration::program {
namespace {

/// Refuses to measure beside jobs of a killed run, which still use devices.
[[nodiscard]] result<void> check_no_orphans() {
    auto const found = find_orphaned_runs();
    if (!found) return found.failure();
    if (std::ranges::all_of(*found, [](orphaned_run const& run) { return run.alive.empty(); })) return {};
    return error_of_alive(*found, "ration run --reattach takes them over, ration clean ends them");
}

}  // namespace

private_runs::private_runs(host_devices const& devices, scratch_folder const& scratch, stop_signals& signals,
                           reporter& out)
    : devices_(devices), scratch_(scratch), signals_(signals), out_(out), topology_(topology_for(devices)),
      open_files_(raise_open_files()) {}

result<run_summary> private_runs::launch(run_config const& config, job_source& source) {
    auto const folder = new_folder();
    if (!folder) return folder.failure();
    run_policies policies(config, config.policy);
    run_session const session{.options = options_,
                              .config = config,
                              .out = out_,
                              .signals = signals_,
                              .devices = devices_,
                              .topology = topology_,
                              .open_files = open_files_,
                              .slots = config.jobs.size()};
    auto opened = open_resources(session, {});
    if (!opened) return opened.failure();
    planned_run const planned{.choice = {.policy = config.policy, .label = config.policy}, .folder = {}};
    auto ended = run_one(session, *opened, {config, planned, policies, source, *folder}, [](auto&) {});
    if (ended) interrupted_ = ended->interrupted;
    return ended;
}

bool private_runs::interrupted() {
    interrupted_ = interrupted_ || signals_.read() > 0;
    return interrupted_;
}

/// An empty folder for the next launch, which starts from its first step and reads no output of an earlier one.
result<std::string> private_runs::new_folder() const {
    auto const folder = scratch_.path() + "/launch";
    std::error_code failure;
    std::filesystem::remove_all(folder, failure);
    if (!failure) std::filesystem::create_directory(folder, failure);
    if (!failure) return folder;
    return process::system_error("make the folder for a launch", folder, failure.value(),
                                 "set TMPDIR to a folder that you can write to");
}

exit_code with_private_runs(host_devices const& devices, std::function<exit_code(private_runs& runs)> const& measure) {
    auto signals = stop_signals::open();
    if (!signals) return fail(exit_code::internal, to_text(signals.failure()));
    if (auto const free = check_no_orphans(); !free) return fail(exit_code::no_backend, to_text(free.failure()));
    auto const scratch = scratch_folder::make();
    if (!scratch) return fail(exit_code::no_backend, to_text(scratch.failure()));
    run_options quiet;
    quiet.quiet = true;
    auto out = reporter::open(quiet);
    if (!out) return fail(exit_code::internal, to_text(out.failure()));
    private_runs runs(devices, *scratch, *signals, *out);
    auto const code = measure(runs);
    out->close();
    return code;
}

std::string failure_of(scaling_probe const& probe, job_summary const& job) {
    if (auto timeout = probe.timeout(); !timeout.empty()) return timeout;
    if (job.how == condition::finished)
        return fmt::format(
            "it finished at step {}, before its speed was known; let it train longer, or shorten --time and --warm-up",
            job.step);
    return fmt::format("it {}: {}", name_of(job.how), job.why);
}

std::optional<host_devices> find_devices(run_config const& config) {
    auto devices = host_devices::find(config);
    std::int64_t const here = process::cpu_set::of_thread(0).size();
    std::int64_t const cpus = std::min<std::int64_t>(here, config.cpus.value_or(static_cast<std::uint32_t>(here)));
    auto const missing = missing_devices(config, devices, millicores{1000 * cpus});
    print_to_stderr(missing);
    return missing.empty() ? std::optional(std::move(devices)) : std::nullopt;
}

std::int64_t most_devices(job_config const& job, host_devices const& devices) {
    auto const& wants = elastic_of(job);
    auto const there = wants.gpu_memory.count > 0 ? devices.with_memory(wants.gpu_memory) : std::ssize(devices.names());
    return std::min<std::int64_t>(there, wants.devices.maximum);
}

}  // namespace ration::program
