// SPDX-License-Identifier: BSL-1.0
#include "serve/configuration.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <utility>

#include <ration/process/cpus.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/settings.hpp"
#include "config/tenants.hpp"
#include "policies/policy_registry.hpp"
#include "run/job_table.hpp"
#include "serve/service_control.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bool is_good(diagnostics const& problems, char const* prefix) {
    print_to_stderr(problems, prefix);
    return problems.empty();
}

/// The policy that an operator has set; nothing if the command line names one, which replaces it.
[[nodiscard]] result<std::optional<kept_policy>> policy_of_operator(serve_options const& options, job_store& store) {
    if (options.policy.empty()) return policy_kept_in(store);
    auto forgotten = forget_policy(store);
    if (!forgotten) return forgotten.failure();
    return std::optional<kept_policy>();
}

[[nodiscard]] parsed_config read_file(serve_options const& options) {
    config_rules rules{.policies = policy_names(), .policy_given = true, .for_service = true};
    if (!options.policy.empty()) rules.named.push_back(options.policy);
    if (!options.config.empty()) return load_config(options.config, rules);
    return {.config = {}, .problems = diagnostics("ration serve")};
}

/// Problems of the tenants and of the devices.
[[nodiscard]] diagnostics impossible(run_config config, host_devices const& devices) {
    std::int64_t const here = process::cpu_set::of_thread(0).size();
    millicores const cpu{1000 * std::min<std::int64_t>(here, config.cpus.value_or(static_cast<std::uint32_t>(here)))};
    config.jobs.clear();  // they were accepted before
    auto problems = missing_devices(config, devices, cpu);
    check_quotas(config.tenants, cpu, std::ssize(devices.names()), problems);
    return problems;
}

}  // namespace

std::optional<service_configuration> read_configuration(serve_options const& options, job_store& store,
                                                        service_folder const& folder) {
    auto const known = policy_of_operator(options, store);
    if (!known) std::fprintf(stderr, "ration: %s\n", printable(to_text(known.failure())).c_str());
    if (!known) return std::nullopt;
    auto const& kept = *known;
    auto read = read_file(options);
    if (!is_good(read.problems, "")) return std::nullopt;
    auto& config = read.config;
    if (!options.policy.empty()) config.policy = options.policy;
    if (config.policy.empty()) config.policy = default_policy;
    diagnostics problems;
    run_config given;
    add_settings(options.settings, {config.policy, std::string(config.fallback_name())}, "run", given, problems);
    for (auto const& parameters : given.parameters) override_parameters(parameters, config);
    policy_choice policy{.policy = config.policy, .label = config.policy};
    if (kept) policy = choice_of(*kept, problems);
    if (!is_good(problems, "ration: ")) return std::nullopt;
    config.policy = policy.policy;
    if (options.cpus) config.cpus = options.cpus;
    config.file = folder.database();
    return service_configuration{std::move(config), std::move(policy)};
}

host_devices find_devices(run_config& config) {
    config.devices.open = true;
    auto devices = host_devices::find(config);
    config.devices.open = !devices.names().empty();
    return devices;
}

void add_jobs(std::span<stored_job const> launched, service_folder const& folder, run_config& config) {
    for (auto const& job : launched)
        if (auto one = job_of(job, folder, job.incarnation, nanoseconds{})) config.jobs.push_back(std::move(*one));
}

bool check_configuration(run_config const& config, host_devices const& devices, std::size_t slots) {
    if (!is_good(impossible(config, devices), "ration: ")) return false;
    host_supply supply{.cpu = {}, .memory = {}, .tenants = config.tenants, .open = true};
    if (config.shares_devices()) supply.devices = std::ssize(devices.names());
    job_table const board(config.jobs, supply, slots);
    diagnostics faults("--policy");
    for (auto const& name : {config.policy, std::string(config.fallback_name())}) {
        auto const made = make_policy(config, name, policy_log::for_good(), faults);
        if (made == nullptr) continue;
        auto const bound = made->bind(board.store().schema(), {.jobs = slots, .nodes = 1});
        if (!bound)
            faults.add(position{}, fmt::format("policy {}: {}", program::quoted(name), to_text(bound.failure())));
    }
    return is_good(faults, "ration: ");
}

}  // namespace ration::program
