// SPDX-License-Identifier: BSL-1.0
/// One job of a run: its identity, its process and its condition. Each component keeps its own data of the job in a
/// `per_job`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ration/assert.hpp>
#include <ration/process/child.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

#include "config/config.hpp"
#include "events/events.hpp"
#include "run/resize.hpp"

namespace ration::program {

class event_sink;

/// Times are on the clock of the run.
struct live_job {
    live_job(job_config const& from, std::size_t table_row) : config(&from), id{table_row + 1}, row(table_row) {}

    job_config const* config;
    job_id id;
    std::size_t row;            ///< in the jobs table, once it has arrived
    resize* devices = nullptr;  ///< null: it uses none

    // --- its present incarnation
    incarnation_id run{};
    text<16> token;
    std::optional<process::child> process;
    std::string checkpoint;  ///< its folder; empty before the first launch
    std::int64_t batch = 0;  ///< samples per step; 0: its own choice
    std::optional<nanoseconds> launched_at;
    bool launching = false;  ///< between the decision and the process
    bool trains_on = false;  ///< after its Objective: ration does not end it, and the policy sees its Acceptable tier
    bool placed = false;     ///< the backend knows it: a process of it may be alive

    // --- as the user sees it
    condition now = condition::waiting;
    std::string why;
    std::optional<nanoseconds> started_at, ended_at;

    /// What the file says of its devices. Pre: it uses devices.
    [[nodiscard]] elastic_config const& elastic() const noexcept {
        RATION_ASSERT(config->elastic, "a job that uses devices describes them");
        return *config->elastic;
    }
    /// Pre: its present incarnation has a process, as that of a job that is alive.
    [[nodiscard]] process::child& child() noexcept {
        RATION_ASSERT(process, "a job that is alive has a process");
        return *process;
    }
    [[nodiscard]] process::child const& child() const noexcept {
        RATION_ASSERT(process, "a job that is alive has a process");
        return *process;
    }

    [[nodiscard]] bool waiting() const noexcept { return now == condition::waiting; }
    [[nodiscard]] bool alive() const noexcept { return process.has_value() && !is_over(now); }
    [[nodiscard]] bool over() const noexcept { return is_over(now); }
};

/// Gives the job another condition, and emits that as an event. Nothing if it has that condition already.
void set_condition(live_job& job, condition state, std::string why, nanoseconds at, event_sink& events);

}  // namespace ration::program
