// SPDX-License-Identifier: BSL-1.0
#include "run/one_run.hpp"

#include <cerrno>
#include <unistd.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/checkpoint_locks.hpp"
#include "run/descriptors.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::unique_ptr<any_policy> make(run_config const& config, std::string_view name, policy_log& log) {
    diagnostics problems(config.file);
    auto made = make_policy(config, std::string(name), log, problems);
    RATION_ASSERT(made != nullptr, "the policies are made once before the first run");
    return made;
}

[[nodiscard]] std::vector<std::unique_ptr<any_estimator>> make_estimators(run_config const& config, policy_log& log) {
    diagnostics problems(config.file);
    auto made = open_estimators(config, log, problems);
    RATION_ASSERT(problems.empty(), "the estimators are made once before the first run");
    return made;
}

/// The folder of a new run, or of the run to reattach.
[[nodiscard]] result<run_directory> directory_of(run_session const& s, std::string const& run,
                                                 std::string const& parent) {
    if (s.reattached == nullptr) return run_directory::create(run, parent);
    return run_directory::reopen(std::move(s.reattached->folder), parent);
}

/// The backend of the machine, with enough open files for the jobs.
[[nodiscard]] result<node_backend> open_node(run_session const& s) {
    auto node = node_backend::open({.choice = s.options.backend,
                                    .cpus = s.config.cpus,
                                    .open_files = s.open_files,
                                    .claims = folder_of_sockets() + ".cpus"});
    if (!node) return node;
    if (auto const enough = check_open_files(s.slots, node->jobs().files_per_job()); !enough) return enough.failure();
    return node;
}

/// Empty when the devices of the run are not shares of a GPU. After `open_node`, which has to have its group for
/// itself.
[[nodiscard]] result<std::unique_ptr<gpu_shares>> shares_of(run_session const& s, std::string const& run_folder,
                                                            std::string const& log_folder) {
    if (!s.devices.of_shares()) return std::unique_ptr<gpu_shares>();
    auto opened = gpu_shares::open(run_folder, log_folder);
    if (!opened) return opened.failure();
    return std::make_unique<gpu_shares>(std::move(opened).value());
}

/// The socket of the jobs of this user. With other users its path is also in the folder of the run.
[[nodiscard]] result<progress::receiver> open_receiver(run_session const& s, run_directory const& directory) {
    auto const& shared = s.options.progress_socket;
    if (shared.empty()) return progress::receiver::open(directory.socket());
    auto receiver = progress::receiver::open(shared, progress::audience::everybody);
    if (!receiver) return receiver;
    static_cast<void>(::unlink(directory.socket().c_str()));  // of an earlier start
    if (::symlink(shared.c_str(), directory.socket().c_str()) == 0) return receiver;
    return process::path_error("link", directory.socket(), errno, "remove it");
}

}  // namespace

run_policies::run_policies(run_config const& config, std::string_view name)
    : policy(make(config, name, log)), fallback(make(config, config.fallback_name(), log)),
      estimators(make_estimators(config, log)) {}

machine_topology topology_for(host_devices const& devices) {
    bool const can_choose = !devices.names().empty() && !devices.of_cpu() && !devices.of_shares();
    return can_choose ? find_topology() : machine_topology{};
}

result<run_resources> open_resources(run_session const& s, std::string const& parent) {
    auto run = s.reattached != nullptr ? result<std::string>(s.reattached->record.run) : new_run_name();
    if (!run) return run.failure();
    auto directory = directory_of(s, *run, parent);
    if (!directory) return directory.failure();
    auto locks = lock_checkpoints(s.config);
    if (!locks) return locks.failure();
    auto node = open_node(s);
    if (!node) return node.failure();
    auto receiver = open_receiver(s, *directory);
    if (!receiver) return receiver.failure();
    return run_resources{std::move(run).value(), std::move(directory).value(), std::move(locks).value(),
                         std::move(node).value(), std::move(receiver).value()};
}

result<run_summary> run_one(run_session const& s, run_resources& resources, run_task const& task,
                            std::function<void(run_summary const&)> const& end) {
    auto const shares = shares_of(s, resources.directory.folder(), task.output_folder);
    if (!shares) return shares.failure();
    // It was read before; if the file has changed since, a policy that needs it is refused
    auto phases = phase_models_of(task.config);
    supervisor one({.config = task.config,
                    .source = task.source,
                    .slots = s.slots,
                    .planned = task.planned,
                    .policy = task.policies.policy,
                    .fallback = *task.policies.fallback,
                    .estimators = task.policies.estimators,
                    .node = resources.node,
                    .devices = s.devices,
                    .shares = shares->get(),
                    .topology = s.topology,
                    .log = task.policies.log,
                    .out = s.out,
                    .directory = resources.directory,
                    .run = resources.name,
                    .output_folder = task.output_folder,
                    .signals = s.signals,
                    .settle = task.settle,
                    .reattached = s.reattached,
                    .phases = phases ? std::move(phases).value() : phase_models{}},
                   std::move(resources.receiver));
    auto ended = one.run();
    if (!ended) print_to_stderr(task.policies.log, task.planned.choice.policy);
    if (!ended) return ended;
    end(*ended);
    resources.directory.remove_at_end();
    task.policies.policy.reset();
    one.emit_final_message();
    return ended;
}

}  // namespace ration::program
