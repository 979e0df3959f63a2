// SPDX-License-Identifier: BSL-1.0
/// The events of a run, as data. The event log, `--json` and the plain lines are three ways to write it down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ration/grant.hpp>
#include <ration/host/check_rule.hpp>
#include <ration/host/plan.hpp>
#include <ration/host/settle.hpp>
#include <ration/snapshot.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// The version of the event log. Fields are only ever added within one version. In version 1 the columns of a decision
/// that grants change were as its grants had left them.
inline constexpr int log_schema = 3, oldest_log_schema = 1;

/// How a job is doing, as people see it.
enum class condition : std::uint8_t {
    waiting,  ///< its start time has not come
    running,
    stalled,     ///< alive, but neither steps nor CPU time
    silent,      ///< uses CPU and has stopped reporting
    restarting,  ///< between two launches, to have other devices
    finished,    ///< exit code 0
    failed,      ///< another exit code, a signal, could not be started
    diverged,    ///< its metric is no longer a number; ended by ration
    stopped,     ///< ended by ration on the user's wish
};
[[nodiscard]] constexpr std::string_view name_of(condition c) noexcept {
    constexpr std::string_view words[] = {"waiting",  "running", "stalled",  "silent", "restarting",
                                          "finished", "failed",  "diverged", "stopped"};
    return words[static_cast<std::size_t>(c)];
}
[[nodiscard]] constexpr bool is_over(condition c) noexcept { return c >= condition::finished; }

/// Which resource is in which backend's hands.
struct control {
    std::string resource;     ///< "cpu"
    std::string backend;      ///< "cgroup v1", "process"
    std::string approximate;  ///< what is not exact about it; empty: nothing
};

/// A parameter of a policy.
struct named_value {
    std::string name;
    std::variant<bool, std::int64_t, double, std::string> value;
};

struct machine_facts {
    std::uint32_t cpus = 0;  ///< that ration may use
    std::string cpu_model;
    bytes memory;
    std::string kernel;  ///< "Linux 6.1.0"
};

/// The first line of a run. A log may hold several runs, one after another.
struct run_started {
    std::string policy, policy_version;
    std::string label{};                    ///< the policy as the command line names it, with its parameters there
    std::uint32_t round = 0;                ///< of a comparison that is repeated, from 1; else 0
    std::vector<named_value> parameters{};  ///< of the policy, from the jobs file and the command line
    /// Where the policy runs: "worker", "in-process"; "none" when it is compiled in
    std::string_view isolation = "none";
    std::uint64_t seed = 0;
    std::int64_t unix_time = 0;  ///< seconds
    std::uint32_t cpus = 0;      ///< shared by the jobs
    nanoseconds tick;
    std::string file, source;  ///< jobs.toml: name and text
    machine_facts machine;
    std::vector<control> controls;
    std::vector<std::string> devices{};     ///< their names; empty: none are shared
    std::span<column_info const> schema{};  ///< of the tables that the policy is shown
};

struct job_started {
    std::string_view job;
    job_id id;
    std::uint32_t incarnation = 0;
    int pid = 0;
    std::span<std::string const> command;
    std::string devices{};    ///< their names, with commas between; empty: none
    std::string cpus{};       ///< as the kernel lists them; empty: it is not bound to any
    std::string placement{};  ///< why these; empty: they were chosen by number, or there are none
    int percent = 0;          ///< of the SMs of the one GPU whose shares they are, by MPS; 0: they are no shares
};

/// The kinds of `resize_changed`; docs/event-log.md describes each.
enum class resize_step : std::uint8_t {
    waiting,  ///< to grow, for devices of other jobs
    queued,
    starting,
    saving,
    stopping,
    terminating,
    killing,
    clearing,
    settled,
    failed,
    restored,
    stuck,
    unverified,
    verified,
};
[[nodiscard]] constexpr std::string_view name_of(resize_step step) noexcept {
    constexpr std::string_view names[] = {"waiting",     "queued",  "starting",   "saving",  "stopping",
                                          "terminating", "killing", "clearing",   "settled", "failed",
                                          "restored",    "stuck",   "unverified", "verified"};
    return names[static_cast<std::size_t>(step)];
}

/// A step of the resize of a job.
struct resize_changed {
    std::string_view job;
    std::uint32_t incarnation = 0;
    resize_step what = resize_step::settled;
    std::int64_t from = 0, to = 0;  ///< devices
    std::string devices;            ///< that it has, or is launched with
    std::string why;
};

/// Whether a device is excluded from new allocations.
enum class device_change : std::uint8_t { cordoned, back };
[[nodiscard]] constexpr std::string_view name_of(device_change change) noexcept {
    return change == device_change::cordoned ? "cordoned" : "back";
}

/// A device that is excluded from new allocations, or is available again.
struct device_changed {
    std::string_view device;
    device_change what = device_change::cordoned;
    std::string why;
};

/// One report of a job. `value` may be NaN or infinite, as the job reported it.
struct job_progress {
    std::string_view job;
    std::uint32_t incarnation = 0;
    std::uint64_t step = 0;
    std::string_view metric;
    double value = 0;
    std::uint64_t count = 1;  ///< `value` is the mean of this number of values
    std::optional<double> smoothed;
};

struct tier_reached {
    std::string_view job;
    std::uint32_t tier = 0;  ///< 1 = Acceptable, 2 = Objective
    std::uint64_t step = 0;
    double value = 0;   ///< smoothed
    nanoseconds after;  ///< since the job's start time as the file gives it
};

/// The level of a job holds from now on, on average over its window, or is lost.
struct level_changed {
    std::string_view job;
    bool holds = false;
    std::uint64_t step = 0;
    std::string_view metric;
    double value = 0;           ///< its mean over the window; NaN: the window has no value
    double met = 0, slack = 0;  ///< as in `jobs/slo.met` and `jobs/slo.slack`
};

/// The checkpoint of a job at its Acceptable tier is kept in a separate folder.
struct delivered {
    std::string_view job;
    std::uint32_t incarnation = 0;
    std::uint64_t step = 0;  ///< of the checkpoint
    std::uint64_t files = 0;
    std::string_view folder;  ///< absolute
};

struct condition_changed {
    std::string_view job;
    condition now = condition::running;
    std::string_view why;
};

/// One tick: all that the policy saw and all that it answered.
struct decision {
    std::uint64_t number = 0, seed = 0;
    nanoseconds budget, took;
    std::span<column_info const> schema;
    snapshot const* shown = nullptr;  ///< to the policy; never null when written
    /// By its grants: the same tables at the end of the tick; never null when written
    snapshot const* left = nullptr;
    int status = 0;
    std::span<grant const> grants;
    bool fell_back = false;  ///< the answer was refused as a whole; the log has a warning instead
};

/// One round of the cache for the files that jobs read: as a `decision` whose jobs are files, and whose columns are
/// those of docs/shared-cache.md.
struct item_decision {
    decision of;
    std::span<std::string const> items;    ///< the file in each row of the jobs table
    std::span<std::string const> tenants;  ///< the name of each row of the table tenants
};

/// A file is in memory from now on, or no more.
struct item_changed {
    std::string_view item;               ///< its path
    std::int64_t before = 0, after = 0;  ///< bytes that are locked in memory
    nanoseconds took;
    std::string_view reason;  ///< the policy's, in words
};

struct change_applied {
    std::string_view job;
    operation_text operation;
    nanoseconds took;
    std::string_view reason;  ///< the policy's, in words
};

struct change_deferred {
    std::string_view job, resource;
    std::int64_t amount = 0;  ///< wanted; `unlimited` is written as "unlimited"
    deferral why = deferral::none;
};

struct grant_rejected {
    grant row;
    check_rule rule = check_rule::passed;
    std::string_view detail;
};

struct warning {
    std::string_view subject, message;
};

/// A line that a policy from a file has logged.
struct policy_logged {
    std::string_view policy, level, text;
    bool for_people = false;  ///< worth showing where people read; not written down
};

struct job_ended {
    std::string_view job;
    std::uint32_t incarnation = 0;
    condition how = condition::finished;
    std::optional<int> exit_code, signal;
    std::uint64_t step = 0;
    std::string_view why;               ///< a sentence for people; may be empty
    std::optional<double> level_met{};  ///< as in `job_summary`
};

/// The outcome of one job. Times are on the clock of the run.
struct job_summary {
    std::string name;
    nanoseconds arrived;  ///< its `at`
    std::optional<nanoseconds> started, acceptable_at, objective_at, ended_at;
    bool has_acceptable = true, has_objective = true;  ///< whether the target has the tier
    condition how = condition::waiting;
    std::string why;
    double device_seconds = 0;  ///< used
    std::uint64_t step = 0;     ///< the last one
    bool released = false;      ///< ration ended it at its Objective
    /// The part of the time since its first value in which the level of its target held; none: no level, or no value
    std::optional<double> level_met{};
};

struct run_summary {
    std::string policy, label{};            ///< label: as in `run_started`
    std::vector<job_summary> jobs;          ///< in the order of the file
    nanoseconds makespan;                   ///< from the start of the run to the end of its last job
    double mean_cpu = 0;                    ///< cores used by all jobs together, mean over the makespan; NaN: unknown
    std::optional<double> available_cpu{};  ///< cores that they could have used: not those that other programs used
    std::vector<std::string> approximate;   ///< sentences: what this machine could only do roughly
    bool interrupted = false;
    std::uint64_t lost_events = 0;
};

struct run_ended {
    run_summary summary;
};

using event_body =
    std::variant<run_started, job_started, job_progress, tier_reached, condition_changed, decision, change_applied,
                 change_deferred, grant_rejected, warning, policy_logged, job_ended, run_ended, resize_changed,
                 device_changed, delivered, item_decision, item_changed, level_changed>;

/// Views inside the body need to live only until the event is written.
struct event {
    nanoseconds at;  ///< on the clock of the run: 0 is its start
    event_body body;
};

/// One line of JSON without the newline; the schema is in docs/event-log.md. Numbers that are not finite are written as
/// the strings "nan", "inf", "-inf"; bytes that are not UTF-8 as U+FFFD.
[[nodiscard]] std::string to_json(event const& e);

}  // namespace ration::program
