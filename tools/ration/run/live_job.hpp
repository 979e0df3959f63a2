// SPDX-License-Identifier: BSL-1.0
/// One job of a run, from its place in the file to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/settle.hpp>
#include <ration/process/child.hpp>
#include <ration/progress/health.hpp>
#include <ration/progress/log_adapter.hpp>
#include <ration/progress/update.hpp>
#include <ration/target.hpp>

#include "config/config.hpp"
#include "events/events.hpp"
#include "run/job_location.hpp"
#include "run/output_tail.hpp"
#include "run/resize.hpp"
#include "view/view.hpp"

namespace ration::program {

/// Whether a job with shares of a GPU was found to be a client of MPS.
struct share_check {
    std::optional<nanoseconds> from, next;  ///< that it should be one; when to look
    bool done = false;                      ///< whichever way
};

/// Of a job with on_acceptable = "save": how far its model is on its way.
struct delivery {
    enum class phase : std::uint8_t {
        none,     ///< Acceptable is not reached, or nothing is to be delivered
        wanted,   ///< to be asked for a checkpoint
        asked,    ///< was asked
        awaited,  ///< cannot be asked, or has not answered: its next checkpoint is delivered, whenever it comes
        done,
    };
    phase now = phase::none;
    std::uint64_t from = 0;     ///< the step at which Acceptable was reached
    std::uint64_t command = 0;  ///< number of the command to save
    std::optional<nanoseconds> deadline;
};

/// Why ration ends a job.
enum class stop_reason : std::uint8_t { none, interrupted, objective_reached, diverged };
[[nodiscard]] constexpr std::string_view name_of(stop_reason reason) noexcept {
    constexpr std::string_view words[] = {"", "interrupted", "objective reached", "diverged"};
    return words[static_cast<std::size_t>(reason)];
}

/// What ration knows of one job. Times are on the clock of the run.
struct live_job {
    live_job(job_config const& from, std::size_t table_row);

    job_config const* config;
    job_id id;
    std::size_t row;  ///< in the jobs table, once it has arrived
    incarnation_id run{};
    text<16> token;
    std::optional<process::child> process;
    target_tracker tracker;
    progress::health health{nanoseconds{}};
    std::optional<progress::log_adapter> adapter;
    output_tail output;

    condition now = condition::waiting;
    std::string why;
    std::uint64_t step = 0;
    std::optional<double> first_value;
    std::optional<nanoseconds> started_at, acceptable_at, objective_at, ended_at, kill_at;
    std::optional<nanoseconds> launched_at;   ///< its present incarnation
    std::optional<nanoseconds> terminate_at;  ///< it was told to stop, and hears SIGTERM if it has not by then
    stop_reason stopping = stop_reason::none;
    nanoseconds cpu_time{};          ///< of its present incarnation, kept after its end
    nanoseconds earlier_cpu_time{};  ///< of the incarnations before
    bytes memory{};                  ///< resident at the last tick
    std::optional<deferral> waits;   ///< the last thing said about a grant of its that waits

    resize* devices = nullptr;       ///< null: it has no use for any
    job_location place;              ///< of its present launch
    std::string control;             ///< where it listens for commands; empty: nowhere
    std::uint64_t last_command = 0;  ///< its number
    std::int64_t requested = -1;     ///< devices that it would like to have; -1: it has not said
    std::int64_t batch = 0;          ///< of its present launch; 0: its own choice
    share_check share;               ///< of its present launch
    delivery model;
    bool launching = false;              ///< between the decision and the process
    bool placed = false;                 ///< the backend knows it: something of it may be alive
    bool reported_done = false;          ///< in this incarnation
    std::string refused;                 ///< why it may not run with its devices; it is being killed
    std::string checkpoint;              ///< its folder; empty before the first launch
    std::optional<std::uint64_t> probe;  ///< at the GPUs, that its failure, its launch or its remains wait for
    nanoseconds clear_at{};              ///< when to look again whether something is left of it
    double device_seconds = 0;           ///< used up to now

    [[nodiscard]] bool waiting() const noexcept { return now == condition::waiting; }
    [[nodiscard]] bool alive() const noexcept { return process.has_value() && !is_over(now); }
    [[nodiscard]] bool over() const noexcept { return is_over(now); }

    /// Takes in one report. Returns true when a tier was reached by it.
    bool take(progress::report const& reply, nanoseconds at);

    [[nodiscard]] job_summary summary() const;
    [[nodiscard]] job_view view(nanoseconds at) const;
};

}  // namespace ration::program
