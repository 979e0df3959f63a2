// SPDX-License-Identifier: BSL-1.0
#include "serve/daemon.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/environment.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "policies/policy_registry.hpp"
#include "run/descriptors.hpp"
#include "run/one_run.hpp"
#include "run/run_folder.hpp"
#include "serve/configuration.hpp"
#include "serve/job_queue.hpp"
#include "serve/list_findings.hpp"
#include "serve/recovery.hpp"
#include "serve/takeover.hpp"
#include "serve/users.hpp"

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

[[nodiscard]] service_facts facts_of(serve_options const& options, service_folder const& folder,
                                     run_config const& config) {
    return {.uid = ::geteuid(),
            .pid = ::getpid(),
            .policy = config.policy,
            .max_running = options.max_running,
            .folder = folder.path};
}

/// The group of the configuration.
[[nodiscard]] result<std::optional<gid_t>> find_admins(run_config const& config, service_folder const& folder) {
    if (config.admin_group.empty()) return std::optional<gid_t>();
    error problem{.code = errc::invalid_value,
                  .operation = "use admin_group",
                  .subject = std::string_view(config.admin_group),
                  .remedy = "create the group, or name another one"};
    if (!folder.of_root) problem.remedy = "only a service of root serves other users: leave it out";
    auto const group = group_named(config.admin_group);
    if (!folder.of_root || !group) return problem;
    return group;
}

[[nodiscard]] run_options run_options_of(serve_options const& options, service_folder const& folder,
                                         policy_choice const& policy) {
    run_options out;
    out.policies.push_back(policy);
    out.policy = policy.policy;
    out.quiet = true;
    out.backend = options.backend;
    out.metrics = options.metrics;
    if (folder.of_root) out.progress_socket = folder.progress_socket();
    return out;
}

[[nodiscard]] exit_code cannot_serve(error const& why) { return program::fail(exit_code::no_backend, to_text(why)); }

/// The list of jobs, which is compared with the files of the jobs.
[[nodiscard]] result<job_store, diagnostic> open_list(service_folder const& folder) {
    auto const files = find_job_files(folder);
    auto store = job_store::open(folder.database(), wall_clock_ms(), files.highest);
    if (!store) {
        auto const damaged = store.failure().code == errc::unverified;
        return diagnostic{.text = to_text(store.failure()) + (damaged ? "; " + text_of(files) : "")};
    }
    auto const found = findings(*store, folder, files);
    if (!found) return diagnostic{.text = to_text(found.failure())};
    for (auto const& sentence : *found) std::fprintf(stderr, "ration: warning: %s\n", printable(sentence).c_str());
    return std::move(store).value();
}

/// Connections to the list that never wait for a commit.
struct list_readers {
    job_list requests;  ///< for those that change nothing
    stage_log events;
};

[[nodiscard]] result<list_readers> open_readers(service_folder const& folder) {
    auto list = job_list::open(folder.database());
    if (!list) return list.failure();
    list->never_wait();
    auto log = stage_log::open(folder.database());
    if (!log) return log.failure();
    return list_readers{std::move(list).value(), std::move(log).value()};
}

/// A log that cannot be opened costs a warning.
void open_log(service_folder const& folder, reporter& out) {
    constexpr std::uint64_t largest_log = 64 << 20;
    auto file = open_private_log(folder.events());
    if (!file) {
        std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(file.failure())).c_str());
        return;
    }
    event_log log(folder.events(), std::move(file).value());
    log.rotate_at(largest_log);
    out.use_log(std::move(log));
}

/// The Unix socket, and the address of --listen.
[[nodiscard]] result<std::vector<entrance>> open_entrances(serve_options const& options, service_folder const& folder) {
    std::vector<entrance> out;
    auto local = listening_socket::open(unix_endpoint{folder.socket(), folder.of_root ? mode_t{0666} : mode_t{0600}});
    if (!local) return local.failure();
    out.push_back({std::move(local).value(), access_rules(), std::nullopt});
    if (options.listen.empty()) return out;
    auto const where = parse_listen_address(options.listen);
    if (!where)
        return error{.code = errc::invalid_value,
                     .operation = "listen at",
                     .subject = std::string_view(options.listen),
                     .remedy = "write 127.0.0.1:8080"};
    auto token = read_token(options.token_file);
    if (!token) return token.failure();
    auto remote = listening_socket::open(*where);
    if (!remote) return remote.failure();
    out.push_back({std::move(remote).value(), access_rules(std::move(token).value()), ::geteuid()});
    return out;
}

void announce_start(serve_options const& options, service_folder const& folder, service_control const& control) {
    std::printf("ration serve: ready at %s%s%s\n", folder.socket().c_str(),
                options.listen.empty() ? "" : " and http://", options.listen.c_str());
    if (control.draining()) std::puts("ration serve: it drains, so that no job starts; ration drain --undo ends that");
    std::fflush(stdout);
}

/// The service with its list, its socket and the jobs of an earlier one.
[[nodiscard]] exit_code serve_jobs(serve_options const& options, service_folder const& folder, job_store& store,
                                   service_configuration given, recovered earlier, api_server& server) {
    auto& config = given.config;
    auto const devices = find_devices(config);
    add_jobs(earlier.launched, folder, config);
    auto const slots = std::max<std::size_t>(options.max_running, config.jobs.size());
    auto const policy = choose_policy(given, devices, slots);
    if (!policy) return exit_code::bad_input;
    config.policy = policy->policy;
    auto const chosen = with_parameters(config, *policy);
    auto const wanted = run_options_of(options, folder, *policy);
    auto const open_files = raise_open_files();
    auto signals = stop_signals::open();
    if (!signals) return cannot_serve(signals.failure());
    auto out = reporter::open(wanted);
    if (!out) return cannot_serve(out.failure());
    open_log(folder, *out);
    auto const topology = topology_for(devices);
    run_session const session{
        wanted, config, *out, *signals, devices, topology, open_files, slots, earlier.run ? &*earlier.run : nullptr};
    auto resources = open_resources(session, folder.path);
    if (!resources) return cannot_serve(resources.failure());
    run_policies policies(chosen, chosen.policy);
    auto readers = open_readers(folder);
    if (!readers) return cannot_serve(readers.failure());
    service_control control(store, readers->requests, {config, devices, resources->node.jobs().capacity()},
                            facts_of(options, folder, config), rule_of(*policies.policy, chosen.policy, chosen));
    if (auto restored = control.restore(); !restored) return cannot_serve(restored.failure());
    service_api api(store, readers->requests, folder, control);
    event_streams events(std::move(readers->events));
    end_hooks ends(store, folder, config.on_end);
    job_queue queue(store, api, control, server, events, ends, folder, options.max_running);
    for (auto& job : earlier.launched) queue.restore(std::move(job));
    announce_start(options, folder, control);
    auto const ended =
        run_one(session, *resources, {config, order_runs(wanted.policies, 1).front(), policies, queue, folder.output()},
                [](run_summary const&) {});
    return ended ? exit_code::ok : cannot_serve(ended.failure());
}

}  // namespace

service_folder state_folder_named(std::string const& word) {
    auto path = fs::absolute(word.empty() ? default_state_folder() : word).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    struct stat about{};
    bool const is_there = ::stat(path.c_str(), &about) == 0;
    return {path.string(), (is_there ? about.st_uid : ::geteuid()) == 0};
}

service_folder service_folder_named(std::string const& word) {
    auto own = state_folder_named(word);
    if (!word.empty()) return own;
    service_folder const for_all{folder_for_all, true};
    std::error_code ignored;
    bool const only_for_all = !fs::exists(own.socket(), ignored) && !fs::exists(own.database(), ignored) &&
                              fs::exists(for_all.socket(), ignored);
    return only_for_all ? for_all : own;
}

std::string default_state_folder() {
    char const* const state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') return std::string(state) + "/ration";
    char const* const home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "/root") + "/.local/state/ration";
}

exit_code serve(serve_options const& options) {
    auto folder = state_folder_named(options.folder);
    folder.of_root = ::geteuid() == 0;
    auto const lock = open_state(folder, options.replace);
    if (!lock) return cannot_serve(lock.failure());
    auto store = open_list(folder);
    if (!store) return program::fail(exit_code::no_backend, to_text(store.failure()));
    auto config = read_configuration(options, *store, folder);
    if (!config) return exit_code::bad_input;
    auto const admins = find_admins(config->config, folder);
    if (!admins) return program::fail(exit_code::bad_input, to_text(admins.failure()));
    auto earlier = recover(*store, folder);
    if (!earlier) return cannot_serve(earlier.failure());
    reduce_environment();
    auto entrances = open_entrances(options, folder);
    if (!entrances) return cannot_serve(entrances.failure());
    api_server server(std::move(entrances).value(), *admins);
    return serve_jobs(options, folder, *store, std::move(*config), std::move(earlier).value(), server);
}

}  // namespace ration::program
