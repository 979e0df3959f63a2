// SPDX-License-Identifier: BSL-1.0
#include "nodes/agent.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"
#include "nodes/agent_claims.hpp"
#include "nodes/agent_jobs.hpp"
#include "nodes/agent_socket.hpp"
#include "nodes/ending_time.hpp"
#include "nodes/lease_guard.hpp"
#include "nodes/node_lock.hpp"
#include "nodes/node_orphans.hpp"
#include "run/descriptors.hpp"
#include "run/one_run.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

/// The messages of the controller before the first job.
struct agent_task {
    hello_order hello;
    begin_order begin;
    std::string file;
};

constexpr nanoseconds lock_interval = milliseconds(100), orphan_grace = seconds(5);

void wait_for(int fd, short events, nanoseconds longest) {
    pollfd one{fd, events, 0};
    ::poll(&one, 1, static_cast<int>(longest.count / 1'000'000));
}

/// Reports why the node cannot work.
[[nodiscard]] exit_code give_up(agent_session& session, exit_code code, std::string sentence) {
    session.send(error_report{std::move(sentence)});
    session.channel.drain();
    return code;
}

/// The first message, behind the lines that a login prints. None: the input has ended, or there is only such text.
[[nodiscard]] std::optional<wire_message<node_order>> await_hello(wire_channel& channel) {
    std::size_t banner = 0;
    for (;;) {
        channel.fill();
        while (auto line = channel.next()) {
            if (!line->too_long && is_hello(line->text))
                if (auto read = read_order(line->text)) return std::move(*read);
            banner += line->text.size() + 1;
            if (line->too_long || banner > most_banner_bytes) return std::nullopt;
        }
        if (channel.at_end()) return std::nullopt;
        wait_for(channel.input(), POLLIN, seconds(10));
    }
}

/// The jobs file and the begin. None: the input has ended, or the controller has ended the run.
[[nodiscard]] std::optional<agent_task> await_task(agent_session& session, hello_order hello) {
    agent_task task{.hello = std::move(hello), .begin = {}, .file = {}};
    for (;;) {
        for (auto& order : session.receive(nullptr)) {
            if (std::holds_alternative<end_order>(order)) return std::nullopt;
            if (auto const* const part = std::get_if<file_order>(&order);
                part != nullptr && task.file.size() + part->text.size() <= max_config_bytes)
                task.file += part->text;
            if (auto* const begin = std::get_if<begin_order>(&order)) {
                task.begin = std::move(*begin);
                return task;
            }
        }
        if (session.channel.at_end()) return std::nullopt;
        wait_for(session.channel.input(), POLLIN, seconds(10));
    }
}

/// The name of the record of an agent's run, in place of a jobs file.
[[nodiscard]] std::string record_name(hello_order const& hello) {
    return fmt::format("node {} of run {}", hello.node, hello.run);
}

[[nodiscard]] std::string lock_path(std::string const& folder, hello_order const& hello) {
    return fmt::format("{}/node-{}-{}", folder, hello.run, hello.node);
}

/// One agent at a time: an earlier one of this node ends its jobs when its lease is over. None: the controller has
/// left.
[[nodiscard]] std::optional<node_lock> await_lock(agent_session& session, std::string const& path) {
    for (;;) {
        if (auto lock = node_lock::try_lock(path)) return lock;
        for (auto const& order : session.receive(nullptr))
            if (std::holds_alternative<end_order>(order)) return std::nullopt;
        if (session.channel.at_end()) return std::nullopt;
        wait_for(session.channel.input(), POLLIN, lock_interval);
    }
}

/// Relative paths of the jobs file begin where the controller was started.
[[nodiscard]] std::string enter(hello_order const& hello) {
    std::error_code failure;
    fs::current_path(hello.directory, failure);
    if (failure)
        return fmt::format("{}: it is not a folder of this node ({}); start ration in a folder that all nodes share",
                           hello.directory, failure.message());
    if (!fs::exists(hello.output + '/' + hello.marker, failure))
        return fmt::format(
            "{}: this node does not see the folder of the controller, so that a job could not continue "
            "on another node; start ration in a folder that all nodes share",
            hello.output);
    return {};
}

/// The jobs file as this node needs it: the devices and CPUs of the node, and no job before the controller assigns one.
[[nodiscard]] result<run_config, std::string> read_task(agent_task const& task, std::vector<job_config>& jobs) {
    auto read = parse_config(task.file, "jobs file", {.policies = {}, .policy_given = true});
    if (!read.problems.empty())
        return fmt::format("the jobs file cannot be read on this node: {}; use the same version of ration on all nodes",
                           (*read.problems.begin()).text);
    auto& config = read.config;
    jobs = std::exchange(config.jobs, {});
    config.file = record_name(task.hello);
    if (task.begin.cpus) config.cpus = task.begin.cpus;
    if (task.begin.devices) config.devices.count = *task.begin.devices;
    config.devices.open = true;
    return std::move(config);
}

[[nodiscard]] hello_report report_of(hello_order const& hello, host_devices const& devices, node_backend& node) {
    auto const sentences = node.jobs().approximations();
    return {.node = hello.node,
            .pid = ::getpid(),
            .cpu = node.jobs().capacity().count,
            .memory = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE),
            .devices = {devices.names().begin(), devices.names().end()},
            .backend = node.jobs().name(),
            .approximate = sentences.empty() ? "" : sentences.front()};
}

/// They outlive an agent that is killed, until its guard has ended the jobs.
struct agent_locks {
    std::string const& folder;  ///< of records and locks on this node
    node_lock const& node;
    agent_claims const& claims;
};

/// Later commands for this node find the socket by the lock.
[[nodiscard]] result<agent_socket> listen_in(run_directory const& directory, node_lock const& lock) {
    auto const path = directory.record_folder() + "/agent";
    auto socket = agent_socket::open(path);
    if (socket) lock.note(path);
    return socket;
}

constexpr char const* no_devices =
    "this node has no GPU; write devices = { count = 4, cpu = 0.5 } into the jobs file for CPU devices";

/// Runs what the controller assigns until its end.
[[nodiscard]] exit_code run_jobs(agent_session& session, agent_task const& task, agent_locks const& locks,
                                 run_config const& config, std::vector<job_config> jobs) {
    auto const devices = host_devices::find(config);
    if (devices.names().empty()) return give_up(session, exit_code::no_backend, no_devices);
    auto signals = stop_signals::open();
    if (!signals) return give_up(session, exit_code::internal, to_text(signals.failure()));
    run_options options;
    options.backend = task.begin.backend;
    auto const grants = std::make_shared<grant_list>();
    run_policies policies(std::make_unique<policy_adapter<sent_grants>>(sent_grants(grants)),
                          std::make_unique<policy_adapter<sent_grants>>(sent_grants(grants)));
    agent_jobs* source = nullptr;
    auto out = reporter::with_listener([&source](event const& what) {
        if (source != nullptr) source->report(what);
    });
    auto const topology = topology_for(devices);
    run_session const run{options, config, out, *signals, devices, topology, raise_open_files(), jobs.size()};
    auto resources = open_resources(run, locks.folder);
    if (!resources) return give_up(session, exit_code::no_backend, to_text(resources.failure()));
    node_lease const lease(task.hello.lease, lease_clock());
    auto guard =
        lease_guard::start({locks.folder, config.file, locks.node, ending_time(jobs), jobs.size()}, lease.until());
    if (!guard) return give_up(session, exit_code::no_backend, to_text(guard.failure()));
    auto socket = listen_in(resources->directory, locks.node);
    if (!socket) return give_up(session, exit_code::no_backend, to_text(socket.failure()));
    agent_jobs own(session, {task.hello, report_of(task.hello, devices, resources->node)}, lease,
                   {*guard, locks.claims, *socket}, std::move(jobs), grants);
    source = &own;
    planned_run const planned{.choice = {.policy = "sent_grants"}, .folder = {}};
    auto const ended =
        run_one(run, *resources, {config, planned, policies, own, task.hello.output, settle_rules{0, {}, {}}},
                [](run_summary const&) {});
    if (!ended) return give_up(session, exit_code::no_backend, to_text(ended.failure()));
    guard->release();
    session.send(ended_report{.without_lease = own.has_lost_lease()});
    session.channel.drain();
    return exit_code::ok;
}

/// A command such as srun passes the environment of another machine on.
void drop_absent_runtime_folder() {
    std::error_code failure;
    char const* const folder = std::getenv("XDG_RUNTIME_DIR");
    if (folder != nullptr && !fs::is_directory(folder, failure)) ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace

exit_code serve_node(node_options const&) {
    drop_absent_runtime_folder();
    wire_channel channel(process::descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
                         process::descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)));
    std::signal(SIGPIPE, SIG_IGN);
    auto first = await_hello(channel);
    if (!first)
        return fail(exit_code::bad_input,
                    "standard input: no message of a controller came; ration run --nodes starts this command");
    agent_session session{.channel = channel, .name = first->head.session, .received = first->head.number};
    auto hello = std::get<hello_order>(std::move(first->body));
    if (hello.version != wire_version) return give_up(session, exit_code::bad_input, version_sentence(hello.version));
    auto const folder = make_node_folder();
    if (!folder) return give_up(session, exit_code::no_backend, to_text(folder.failure()));
    auto const path = lock_path(*folder, hello);
    if (auto agent = hello.reattach ? agent_socket::connect(node_lock::note_in(path)) : std::nullopt) {
        agent->send(to_line(first->head, hello));
        relay(channel, *agent);
        return exit_code::ok;
    }
    auto task = await_task(session, std::move(hello));
    if (!task) return exit_code::ok;
    auto const lock = await_lock(session, path);
    if (!lock) return exit_code::ok;
    if (auto const ended = end_node_orphans(*folder, record_name(task->hello), orphan_grace); !ended)
        return give_up(session, exit_code::no_backend, to_text(ended.failure()));
    if (auto sentence = enter(task->hello); !sentence.empty())
        return give_up(session, exit_code::no_backend, std::move(sentence));
    std::vector<job_config> jobs;
    auto const config = read_task(*task, jobs);
    if (!config) return give_up(session, exit_code::bad_input, config.failure());
    agent_claims claims(jobs, task->hello.run);
    claims.add_run_folder(task->hello.output);
    claims.share();
    return run_jobs(session, *task, {*folder, *lock, claims}, *config, std::move(jobs));
}

}  // namespace ration::program
