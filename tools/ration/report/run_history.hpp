// SPDX-License-Identifier: BSL-1.0
/// The part of one run that a report keeps: bounded in everything but the number of its jobs. Times are nanoseconds of
/// the run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/device_history.hpp"

namespace ration::program {

/// A quantity of every job over time: means over stretches that follow one another. Where there get to be too many,
/// neighbours are made one.
class job_series {
public:
    struct segment {
        std::int64_t from = 0, to = 0;
        std::vector<double> of;  ///< by place of the job; shorter where later jobs had nothing yet
    };

    /// `to` is not below the last one. Amortised O(jobs).
    void add(std::int64_t to, std::vector<double> of);
    [[nodiscard]] std::vector<segment> const& segments() const noexcept { return segments_; }
    /// Joins neighbours until at most `most` segments are left.
    void fold_to(std::size_t most);

private:
    void fold();
    std::vector<segment> segments_;
    std::uint64_t in_each_ = 1, in_last_ = 1;  ///< how many additions a stretch is made of
};

/// One report of a job.
struct progress_point {
    std::int64_t t = 0, step = 0;
    double value = 0;  ///< smoothed where there is such a value, else as reported
};

/// Reports of a job in their order: all of them, or every so-manieth, and always the last one.
class progress_curve {
    std::vector<progress_point> points_;
    progress_point last_;
    std::uint64_t seen_ = 0, every_ = 1;

public:
    void add(progress_point const& point);
    [[nodiscard]] std::vector<progress_point> points(std::size_t most) const;
    [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
};

enum class job_phase : std::uint8_t { waiting, running, acceptable, objective, stalled, silent, level };
inline constexpr std::size_t job_phases = 7;

struct phase_segment {
    job_phase phase = job_phase::waiting;
    std::int64_t from = 0, to = 0;
};

struct job_record {
    std::string name, metric, how, why;  ///< `how` is empty until its end, or that of the log
    std::optional<std::int64_t> arrived, started, acceptable_at, objective_at, ended_at;
    std::optional<double> acceptable, objective, level;  ///< of the target, if the jobs file has it
    std::optional<double> level_met;                     ///< as in `job_summary`, at its end
    std::int64_t starts = 0, last_step = 0;              ///< starts: incarnations
    bool released = false;                               ///< ration ended it at its Objective
    double device_seconds = 0;
    std::int64_t changes = 0;  ///< operations applied to it
    progress_curve curve;
    std::vector<phase_segment> phases;  ///< from its first start on, in order
    job_phase phase = job_phase::waiting;
    std::uint32_t tier = 0;
    bool holds_level = false;
    std::string condition = "running";

    /// The phase that its condition and its tier imply.
    [[nodiscard]] job_phase phase_from_reports() const noexcept {
        if (condition == "stalled") return job_phase::stalled;
        if (condition == "silent") return job_phase::silent;
        if (holds_level) return job_phase::level;
        return tier >= 2 ? job_phase::objective : tier == 1 ? job_phase::acceptable : job_phase::running;
    }
};

/// A line of the decision log.
struct log_entry {
    std::int64_t t = 0, last = 0;           ///< the first and the last time that it was so
    std::int64_t times = 1, decision = -1;  ///< the number of the last tick before it; -1: none yet
    std::string what, job, resource, from, to, why;
};

/// The first and the last entries of a run.
class entry_list {
    static constexpr std::size_t half = 1000;
    std::vector<log_entry> first_;
    std::deque<log_entry> last_;
    std::int64_t seen_ = 0;

public:
    /// An entry that repeats one of the last few is counted there.
    void add(log_entry entry);
    [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }
    /// At most `most` entries: the first half of them and the last.
    [[nodiscard]] std::vector<log_entry> cut_to(std::size_t most) const;

private:
    [[nodiscard]] bool counted(log_entry const& entry);
};

struct resource_record {
    job_series used, held;
    std::vector<double> holds;  ///< since the last decision, by place
    job_series room;            ///< one place: capacity of all nodes
};

struct run_history {
    std::string file, policy, policy_version, isolation, program, jobs_file, machine;
    std::string label;       ///< the policy with its parameters on the command line; empty in older logs
    std::int64_t round = 0;  ///< of a comparison that was repeated, from 1
    std::int64_t first_line = 0, unix_time = 0, cpus = 0, memory = 0, tick = 0, end = 0;
    std::vector<std::string> approximate;
    std::optional<std::int64_t> makespan;  ///< none: the log ends before the run did
    std::optional<double> mean_cpu, available_cpu;
    bool interrupted = false;
    std::int64_t lost_events = 0, rejected = 0, deferred = 0, changes = 0, warnings = 0;
    /// In the order of the jobs file once the run ended, before that as they came
    std::vector<job_record> jobs;
    std::vector<double> decision_times;             ///< seconds
    std::map<std::int64_t, std::int64_t> statuses;  ///< how many decisions had which; 0 is all right
    std::map<std::string, resource_record> resources;
    entry_list entries;
    device_history devices;
    std::map<std::string, std::int64_t> unknown;  ///< events that this ration does not support

    /// Counts at most 40 different names, because a log from elsewhere may hold any number.
    void count_unknown(std::string const& name) {
        if (unknown.contains(name) || unknown.size() < 40) ++unknown[name];
    }
};

}  // namespace ration::program
