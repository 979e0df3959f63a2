// SPDX-License-Identifier: BSL-1.0
/// jobs.toml as data. Everything is checked here, with line and column; what only the policy or the machine can judge
/// keeps its place in the file, so that the judge can name it.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ration/job.hpp>
#include <ration/process/account.hpp>
#include <ration/target.hpp>
#include <ration/units.hpp>

#include "common/diagnostics.hpp"
#include "config/job_part.hpp"
#include "config/tenants.hpp"

namespace ration::program {

/// One key of a policy's table, not validated yet: only the policy has the list of its parameters.
struct parameter {
    std::string name;
    std::variant<bool, std::int64_t, double, std::string> value;
    position name_at, value_at;
};

/// The table of one policy: `tradl = { alpha = 0.9 }`.
struct policy_parameters {
    std::string policy;  ///< its name, or the file name of its .so without "lib" and ".so"
    position at;
    std::vector<parameter> parameters;  ///< in the order of the file
};

/// The process in which a policy runs: a separate one, or that of the program.
enum class policy_location : std::uint8_t { worker, in_process };

/// One key of `isolation = { mine = "in-process" }`.
struct policy_isolation {
    std::string policy;  ///< as in `policy_parameters`
    policy_location where = policy_location::worker;
    position at;
};

/// The level of a service: a bound on the mean of its metric.
struct level_config {
    double bound = 0;    ///< not 0: the largest good value where the metric improves downwards, else the smallest
    nanoseconds over{};  ///< length of the window; above 0
};

/// The target of a job: a level, or at least one of two tiers, which are in order. Without one the job trains to its
/// end, and the metric is its loss.
struct target_config {
    std::string metric;
    direction improves = direction::down;
    std::optional<double> acceptable{}, objective{};
    std::optional<level_config> level{};
    /// The metric counts as its mean over this number of values, and only once that number is there
    std::uint32_t mean_of = 1;

    [[nodiscard]] bool is_given() const noexcept { return acceptable || objective || level; }
};

/// The devices that the jobs share. Without the key in the file: the machine's GPUs.
struct device_config {
    std::uint32_t count = 0;     ///< of CPU devices, or of shares of a GPU; 0: the machine's GPUs
    millicores each{};           ///< CPU of one CPU device
    std::int64_t per_mille = 0;  ///< of the GPU's SMs, of one share
    position at;                 ///< of the key; line 0: the file does not have it
    bool open = false;           ///< also for jobs that come later, so that they are looked for in any case
    [[nodiscard]] bool of_cpu() const noexcept { return each.count > 0; }
    [[nodiscard]] bool of_shares() const noexcept { return per_mille > 0; }
};

/// How long each part of a change of size may take.
struct resize_deadlines {
    nanoseconds save = seconds(120);  ///< from being asked for a checkpoint to having it
    /// From being asked to stop to the end of its processes; then SIGTERM, 10 s later SIGKILL
    nanoseconds stop = seconds(30);
    nanoseconds start = seconds(300);  ///< from the launch to its hello, and from there to its first step
};

/// The keys of a job with devices. Lists are by number of devices: entry 0 is for none.
struct elastic_config {
    bounds devices{1, unlimited};
    position at;         ///< of `gpu` in `bounds`
    bytes gpu_memory{};  ///< that each GPU has to have at least; 0: any will do
    position gpu_memory_at;
    bounds batch{1, unlimited};         ///< samples per step
    std::vector<double> speedup;        ///< throughput over that with one device; empty: not measured
    std::vector<std::int64_t> batches;  ///< the best global batch; empty: the job chooses
    std::string checkpoint;             ///< folder; empty: one of the run
    position checkpoint_at;
    nanoseconds restart_cost = seconds(10);  ///< until one was measured
    resize_deadlines deadlines;
    std::int64_t most_nodes = 1;  ///< that the job can use at once
    job_part part;                ///< on this node
};

/// The action of ration on a job at its Objective, once the policy releases it.
enum class objective_action : std::uint8_t {
    save,         ///< asks it to save and stop; a job that takes no such command trains to its end
    stop,         ///< the same; a job that takes no such command gets its signal
    continuation  ///< nothing: the job trains to its end
};

/// Events of a job that can start a command of the user.
enum class hook : std::uint8_t { acceptable, objective, end, failure };
inline constexpr std::array<std::string_view, 4> hook_keys{"on_acceptable", "on_objective", "on_end", "on_failure"};

enum class metric_format : std::uint8_t { csv, jsonl, tensorboard };

/// A metric, and the column of a file that has it, or the tag of TensorBoard events.
struct metric_column {
    std::string metric, column;
};

/// A file with metrics, which the framework of a job writes.
struct metric_file_config {
    std::string path;  ///< or a pattern of glob(7); relative to the job's directory
    metric_format format = metric_format::csv;
    std::optional<std::string> step{};   ///< the column of the step; without a name "step" where a file has it
    std::vector<metric_column> columns;  ///< at least that of the target's metric
};

/// The user of a job in a service of root, where that is not root.
struct job_owner {
    process::account account;
    std::vector<std::string> environment;  ///< NAME=VALUE; its jobs inherit this, and nothing of ration's
    std::string folder;                    ///< of the user; for output, checkpoints and sockets for commands
    std::string progress_socket;           ///< a path in it
};

struct job_config {
    std::string name;                  ///< unique; [A-Za-z0-9._-], at most 48, no leading '.' or '-'
    std::string phase_class;           ///< the class of its phases; empty: its name
    std::vector<std::string> command;  ///< at least the program; no zero bytes
    std::string directory;             ///< empty: where ration was started
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<std::string> preload;  ///< modules of Python that a fork server imports; empty: no server
    nanoseconds at;                    ///< start, counted from the start of the run
    target_config target;
    bounds cpu;                             ///< millicores
    std::optional<bytes> memory;            ///< limit
    std::optional<elastic_config> elastic;  ///< of a job that needs devices
    bool saves_at_acceptable = false;       ///< on_acceptable = "save": its checkpoint of then is kept
    objective_action at_objective = objective_action::save;
    int stop_signal = SIGTERM;
    nanoseconds grace = seconds(10);                ///< from that signal to SIGKILL
    std::array<std::vector<std::string>, 4> hooks;  ///< commands by `hook`; empty: none
    std::optional<metric_file_config> metrics;
    std::vector<std::string> log;             ///< regular expressions for the job's output; empty: it reports by itself
    bool must_report = true;                  ///< else a job without reports causes no warning
    std::optional<job_owner> owner;           ///< none: the user of ration
    std::optional<mode_t> umask;              ///< none: that of ration
    std::optional<std::int64_t> array_index;  ///< of a job of an array
    std::string submitter;                    ///< name of the job that has submitted it; empty: none
    std::string tenant;                       ///< empty: the tenant of all jobs that name none
    std::vector<std::string> reads;           ///< files for the cache of the run
    double weight = 1;
    std::int64_t priority = 0;  ///< -1000000 to 1000000; a greater one is more urgent
    /// Its whole table in the file, as `lines_of` returns it; for a job with devices also their size
    std::vector<std::string> definition;
    position where;  ///< of the job; then of the values of its keys
    position name_at, command_at, directory_at, log_at, reads_at, preload_at;

    /// A path of the job, as this process can open it.
    [[nodiscard]] std::string from_here(std::string const& path) const {
        return path.starts_with('/') || directory.empty() ? path : directory + '/' + path;
    }
    /// Whose rights count for the paths of this job, and for its processes; null: those of ration.
    [[nodiscard]] process::account const* account() const noexcept { return owner ? &owner->account : nullptr; }
    /// The folder for its output in a run with this one.
    [[nodiscard]] std::string const& output_folder(std::string const& of_run) const noexcept {
        return owner ? owner->folder : of_run;
    }
};

/// An estimator from a file.
struct estimator_file {
    std::string path;
    position at;
};

struct run_config {
    std::string file;    ///< as given
    std::string source;  ///< the file's text
    std::string policy;  ///< a name or the path of a .so; empty only if `config_rules::policy_given`
    position policy_at;
    std::string fallback;  ///< a name; empty: `fallback_name` chooses
    std::vector<policy_parameters> parameters;
    std::vector<policy_isolation> isolations;
    /// Of several users: policies that are compiled in have workers, and the machine may start a worker later.
    bool for_service = false;
    std::vector<estimator_file> estimators;  ///< they come before those that are compiled in
    std::optional<std::uint32_t> cpus;       ///< cores that the jobs share; not given: all there are
    device_config devices;
    nanoseconds tick = milliseconds(500);
    std::optional<bytes> cache;  ///< of the page cache, for the files that jobs read
    position cache_at;
    std::vector<job_config> jobs;  ///< 1 to `max_jobs`, in the order of the file
    tenant_tree tenants;           ///< those that the file describes
    /// The `on_end` of the jobs of a service that have none
    std::vector<std::string> on_end;
    /// Of a service of root: the group whose members see and control all jobs; empty: root alone does
    std::string admin_group;

    /// The policy that decides once ration no longer calls the chosen one. By default `none`, and `fifo` where devices
    /// are shared out, since `none` starts no job that needs devices.
    [[nodiscard]] std::string_view fallback_name() const noexcept;
    /// The table of this policy (a name or the path of a .so), or nullptr.
    [[nodiscard]] policy_parameters const* parameters_of(std::string_view policy) const noexcept;
    /// The entry of the file on where this policy runs, or nullptr.
    [[nodiscard]] policy_isolation const* isolation_of(std::string_view policy) const noexcept;
    /// Whether devices are shared out: a job needs some, or the file names CPU devices or shares of a GPU.
    [[nodiscard]] bool shares_devices() const noexcept;
};

inline constexpr std::size_t max_jobs = 512, max_tenants = 1024, max_reads = 64;
/// The policy for the files that jobs read. `policy` cannot name it, because it decides on no jobs.
inline constexpr std::string_view item_policy = "shared_cache";
/// Whether a job or a tenant may be called so.
[[nodiscard]] bool is_plain_name(std::string_view name) noexcept;
inline constexpr std::size_t max_config_bytes = 1u << 20;

struct config_rules {
    std::vector<std::string> policies;  ///< names that are known; empty: any name passes
    bool policy_given = false;          ///< the command line names a policy, so that the file need not
    bool for_service = false;           ///< it has no jobs
    std::vector<std::string> named{};   ///< what the command line names: the file may have tables for these as well
};

/// The outcome of reading: `config` is complete if and only if `problems` is empty. All problems, in the order of the
/// file.
struct parsed_config {
    run_config config;
    diagnostics problems;
};

/// `file` is a name for messages.
[[nodiscard]] parsed_config parse_config(std::string text, std::string file, config_rules const& rules = {});

/// Reads the file first: not there, not readable, no regular file, over `max_config_bytes` are problems too.
[[nodiscard]] parsed_config load_config(std::string const& file, config_rules const& rules = {});

/// Items of the file that this machine does not have now: missing directories and programs, in the order
/// of the file. A program is looked for as execvp(3) does, in the job's own PATH if it sets one.
[[nodiscard]] diagnostics missing_files(run_config const& config);

/// A job, and a sentence on it.
struct job_remark {
    std::string job, text;
};
/// Jobs whose `metrics` name the same files as those of an earlier job, so that ration cannot assign the rows to a job.
[[nodiscard]] std::vector<job_remark> shared_metric_files(run_config const& config);

/// Whether a policy is meant as a file: it has a slash or ends in ".so".
[[nodiscard]] bool is_plugin_path(std::string_view policy) noexcept;

/// The name that the file uses for the table of parameters of a policy: "tradl" for "tradl" and for
/// "plugins/libtradl.so".
[[nodiscard]] std::string_view policy_stem(std::string_view policy) noexcept;

}  // namespace ration::program
