// SPDX-License-Identifier: BSL-1.0
/// The configuration of the service, from its options, its file and its operators.
#pragma once

#include <optional>
#include <span>

#include "config/config.hpp"
#include "run/host_devices.hpp"
#include "serve/daemon.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

/// The configuration without jobs; its policy is the one to start with. A policy on the command line replaces what an
/// operator has set. None: the problems were printed.
[[nodiscard]] std::optional<run_config> read_configuration(serve_options const& options, job_store& store,
                                                           service_folder const& folder);

/// The devices of the service, whether its jobs ask for some or not.
[[nodiscard]] host_devices find_devices(run_config& config);

/// Adds the jobs that an earlier service has launched.
void add_jobs(std::span<stored_job const> launched, service_folder const& folder, run_config& config);

/// Whether the policies can be made and find the columns that they read, and whether the tenants and the devices can
/// have the amounts of the file. Prints the problems.
[[nodiscard]] bool check_configuration(run_config const& config, host_devices const& devices, std::size_t slots);

}  // namespace ration::program
