// SPDX-License-Identifier: BSL-1.0
#include "serve/configuration.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/settings.hpp"
#include "config/tenants.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/job_table.hpp"
#include "run/memory_lock.hpp"
#include "run/phase_models.hpp"
#include "run/run_cpus.hpp"
#include "serve/service_control.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bool is_good(diagnostics const& problems, char const* prefix) {
    print_to_stderr(problems, prefix);
    return problems.empty();
}

void warn(std::string const& sentence) { std::fprintf(stderr, "ration: warning: %s\n", printable(sentence).c_str()); }

/// The policy that an operator has set; nothing if the command line names one, which replaces it.
[[nodiscard]] result<std::optional<policy_choice>> policy_of_operator(serve_options const& options, job_store& store,
                                                                      service_folder const& folder) {
    if (!options.policy.empty()) {
        auto forgotten = forget_policy(store);
        return forgotten ? result<std::optional<policy_choice>>(std::nullopt) : forgotten.failure();
    }
    auto const text = policy_kept_in(store);
    if (!text) return text.failure();
    auto const& written = *text;
    if (!written) return std::optional<policy_choice>();
    diagnostics problems;
    auto const kept = read_policy(*written);
    auto choice = kept ? std::optional(choice_of(*kept, problems)) : std::nullopt;
    if (choice && problems.empty()) return choice;
    warn(fmt::format("{}: the policy that was set last cannot be read; set it again: ration policy set NAME",
                     folder.database()));
    return std::optional<policy_choice>();
}

[[nodiscard]] parsed_config read_file(serve_options const& options) {
    config_rules rules{.policies = policy_names(), .policy_given = true, .for_service = true};
    if (!options.policy.empty()) rules.named.push_back(options.policy);
    if (!options.config.empty()) return load_config(options.config, rules);
    return {.config = {}, .problems = diagnostics("ration serve")};
}

/// The models of phases are relative to the file, whose place the configuration replaces. Problems of the models.
[[nodiscard]] diagnostics fix_models(run_config& config) {
    diagnostics problems;
    if (auto const models = phase_models_of(config); !models) problems.add(models.failure());
    for (auto& table : config.parameters)
        for (auto& parameter : table.parameters)
            if (auto* const path = std::get_if<std::string>(&parameter.value); table.policy == "phases" && path)
                *path = std::filesystem::absolute(std::filesystem::path(config.file).parent_path() / *path).string();
    return problems;
}

/// Problems of the tenants and of the devices.
[[nodiscard]] diagnostics impossible(run_config config, host_devices const& devices) {
    auto const cpu = usable_cpu(config.cpus);
    config.jobs.clear();  // they were accepted before
    auto problems = missing_devices(config, devices, cpu);
    check_quotas(config.tenants, cpu, std::ssize(devices.names()), problems);
    check_cache(config, problems);
    static_cast<void>(item_parameters(config, problems));
    return problems;
}

/// The reasons why the policy, or its fallback, cannot be made or lacks a column.
[[nodiscard]] diagnostics faults_of(policy_choice const& policy, run_config const& given, host_devices const& devices,
                                    std::size_t slots) {
    auto const config = with_parameters(given, policy);
    host_supply supply{.cpu = {}, .memory = {}, .tenants = config.tenants, .open = true};
    if (config.shares_devices()) supply.devices = std::ssize(devices.names());
    if (auto phases = phase_models_of(config)) supply.phases = std::move(phases).value();
    job_table const board(config.jobs, supply, slots);
    diagnostics faults;
    for (auto const& name : {policy.policy, std::string(config.fallback_name())}) {
        auto const made = make_policy(config, name, policy_log::for_good(), faults);
        if (made == nullptr) continue;
        auto const bound = made->bind(board.store().schema(), {.jobs = slots, .nodes = 1});
        if (!bound)
            faults.add(position{}, fmt::format("policy {}: {}", program::quoted(name), to_text(bound.failure())));
    }
    static_cast<void>(open_estimators(config, policy_log::for_good(), faults));
    return faults;
}

}  // namespace

std::optional<service_configuration> read_configuration(serve_options const& options, job_store& store,
                                                        service_folder const& folder) {
    auto kept = policy_of_operator(options, store, folder);
    if (!kept) std::fprintf(stderr, "ration: %s\n", printable(to_text(kept.failure())).c_str());
    if (!kept) return std::nullopt;
    auto read = read_file(options);
    if (!is_good(read.problems, "")) return std::nullopt;
    auto& config = read.config;
    if (!options.policy.empty()) config.policy = options.policy;
    if (config.policy.empty()) config.policy = default_policy;
    config.for_service = true;
    diagnostics problems;
    run_config given;
    add_settings(options.settings, {config.policy, std::string(config.fallback_name()), std::string(item_policy)},
                 "run", given, problems);
    for (auto const& parameters : given.parameters) override_parameters(parameters, config);
    if (!is_good(problems, "ration: ")) return std::nullopt;
    if (!is_good(fix_models(config), "")) return std::nullopt;
    if (options.cpus) config.cpus = options.cpus;
    config.file = folder.database();
    return service_configuration{std::move(config), std::move(kept).value()};
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

std::optional<policy_choice> choose_policy(service_configuration const& given, host_devices const& devices,
                                           std::size_t slots) {
    auto const& config = given.config;
    if (!is_good(impossible(config, devices), "ration: ")) return std::nullopt;
    policy_choice configured{.policy = config.policy, .label = config.policy};
    if (given.kept) {
        auto const faults = faults_of(*given.kept, config, devices, slots);
        if (faults.empty()) return given.kept;
        print_to_stderr(faults, "ration: warning: ");
        warn(
            fmt::format("policy {}: it was set and cannot be used now, so that {} decides; set a policy: ration "
                        "policy set NAME",
                        program::quoted(given.kept->policy), program::quoted(configured.policy)));
    }
    if (!is_good(faults_of(configured, config, devices, slots), "ration: ")) return std::nullopt;
    return configured;
}

}  // namespace ration::program
