// SPDX-License-Identifier: BSL-1.0
#include "serve/daemon.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include <ration/process/environment.hpp>

#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "config/settings.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"
#include "run/one_run.hpp"
#include "run/private_folder.hpp"
#include "serve/job_queue.hpp"
#include "serve/recovery.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// A job gets the environment of its submitter, and of the service only these.
constexpr std::array kept_variables{"XDG_RUNTIME_DIR",     "PATH", "HOME", "USER", "LANG", "TMPDIR",
                                    "CUDA_VISIBLE_DEVICES"};

void reduce_environment() {
    for (auto const& entry : process::current_environment()) {
        auto const name = entry.substr(0, entry.find('='));
        if (std::ranges::find(kept_variables, name) == kept_variables.end()) ::unsetenv(name.c_str());
    }
}

/// Makes the folders, all of this user alone. Returns the first one, which is locked while the service lives.
[[nodiscard]] result<process::descriptor> open_state(service_folder const& folder) {
    std::error_code failure;
    auto const above = fs::path(folder.path).parent_path().string();
    fs::create_directories(above, failure);
    auto const parent = open_trusted_folder(above);
    if (!parent) return parent.failure();
    auto state = make_private_folder(*parent, fs::path(folder.path).filename(), folder.path);
    if (!state) return state;
    for (auto const* const name : {"jobs", "ends"})
        if (auto made = make_private_folder(*state, name, folder.path + '/' + name); !made) return made;
    auto locked = open_folder(folder.path);
    if (locked && !try_lock(*locked))
        return error{.code = errc::busy,
                     .operation = "lock the state folder",
                     .subject = std::string_view(folder.path),
                     .remedy = "another service has it: use that one, or name another folder by --state"};
    return locked;
}

[[nodiscard]] run_config config_of(serve_options const& options, service_folder const& folder, recovered const& earlier,
                                   diagnostics& problems) {
    run_config config;
    config.file = folder.database();
    config.policy = options.policy;
    config.cpus = options.cpus;
    add_settings(options.settings, {options.policy, std::string(config.fallback_name())}, "serve", config, problems);
    for (auto const& job : earlier.launched)
        if (auto one = job_of(job, folder, job.incarnation, nanoseconds{})) config.jobs.push_back(std::move(*one));
    return config;
}

/// Whether the policies can be made.
[[nodiscard]] bool try_policies(run_config const& config) {
    diagnostics problems("--policy");
    for (auto const& name : {config.policy, std::string(config.fallback_name())})
        static_cast<void>(make_policy(config, name, policy_log::for_good(), problems));
    print_to_stderr(problems, "ration: ");
    return problems.empty();
}

[[nodiscard]] run_options run_options_of(serve_options const& options) {
    run_options out;
    out.policies.push_back({.policy = options.policy, .label = options.policy});
    out.policy = options.policy;
    out.quiet = true;
    out.backend = options.backend;
    return out;
}

[[nodiscard]] exit_code cannot_serve(error const& why) { return program::fail(exit_code::no_backend, to_text(why)); }

/// The service with its list, its socket and the jobs of an earlier one.
[[nodiscard]] exit_code serve_jobs(serve_options const& options, service_folder const& folder, job_store& store,
                                   recovered earlier, listening_socket listener) {
    diagnostics problems;
    auto const config = config_of(options, folder, earlier, problems);
    print_to_stderr(problems, "ration: ");
    if (!problems.empty() || !try_policies(config)) return exit_code::bad_input;
    auto const wanted = run_options_of(options);
    auto const open_files = raise_open_files();
    auto signals = stop_signals::open();
    if (!signals) return cannot_serve(signals.failure());
    auto out = reporter::open(wanted);
    if (!out) return cannot_serve(out.failure());
    auto const devices = host_devices::find(config);
    machine_topology const topology{};
    auto const slots = std::max<std::size_t>(options.max_running, config.jobs.size());
    run_session session{
        wanted, config, *out, *signals, devices, topology, open_files, slots, earlier.run ? &*earlier.run : nullptr};
    service_api api(
        store, folder,
        {.uid = ::geteuid(), .pid = ::getpid(), .policy = options.policy, .max_running = options.max_running});
    api_server server(std::move(listener));
    job_queue queue(store, api, server, folder, options.max_running);
    for (auto& job : earlier.launched) queue.restore(std::move(job));
    auto resources = open_resources(session);
    if (!resources) return cannot_serve(resources.failure());
    run_policies policies(config, options.policy);
    auto const planned = order_runs(wanted.policies, 1);
    std::printf("ration serve: ready at %s\n", folder.socket().c_str());
    std::fflush(stdout);
    auto const ended = run_one(session, *resources, {config, planned.front(), policies, queue, folder.output()},
                               [](run_summary const&) {});
    return ended ? exit_code::ok : cannot_serve(ended.failure());
}

}  // namespace

service_folder state_folder_named(std::string const& word) {
    auto path = fs::absolute(word.empty() ? default_state_folder() : word).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    return {path.string()};
}

std::string default_state_folder() {
    char const* const state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') return std::string(state) + "/ration";
    char const* const home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "/root") + "/.local/state/ration";
}

exit_code serve(serve_options const& options) {
    service_folder const folder = state_folder_named(options.folder);
    auto const lock = open_state(folder);
    if (!lock) return cannot_serve(lock.failure());
    auto store = job_store::open(folder.database(), wall_clock_ms());
    if (!store) return cannot_serve(store.failure());
    auto earlier = recover(*store, folder);
    if (!earlier) return cannot_serve(earlier.failure());
    reduce_environment();
    auto listener = listening_socket::open(unix_endpoint{folder.socket()});
    if (!listener) return cannot_serve(listener.failure());
    return serve_jobs(options, folder, *store, std::move(earlier).value(), std::move(listener).value());
}

}  // namespace ration::program
