// SPDX-License-Identifier: BSL-1.0
/// The configuration of the service, from its options, its file and its operators.
#pragma once

#include <optional>
#include <span>

#include "config/config.hpp"
#include "config/settings.hpp"
#include "run/host_devices.hpp"
#include "serve/daemon.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

struct service_configuration {
    run_config config;                  ///< without jobs; with the policy of the command line or the file
    std::optional<policy_choice> kept;  ///< the policy that an operator has set, which goes before that
};

/// The configuration of the service. A policy on the command line replaces what an
/// operator has set. None: the problems were printed.
[[nodiscard]] std::optional<service_configuration> read_configuration(serve_options const& options, job_store& store,
                                                                      service_folder const& folder);

/// The devices of the service, whether its jobs ask for some or not.
[[nodiscard]] host_devices find_devices(run_config& config);

/// Adds the jobs that an earlier service has launched.
void add_jobs(std::span<stored_job const> launched, service_folder const& folder, run_config& config);

/// The policy to start with, and its parameters beside those of the configuration. Jobs may run, so that a policy of an
/// operator that cannot be made costs a warning, and that of the configuration decides. None: that cannot be made or
/// lacks a column, or the tenants or the devices cannot have the amounts of the file; the problems were printed.
[[nodiscard]] std::optional<policy_choice> choose_policy(service_configuration const& given,
                                                         host_devices const& devices, std::size_t slots);

}  // namespace ration::program
