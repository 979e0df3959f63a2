// SPDX-License-Identifier: BSL-1.0
/// One job of a run: its identity, its process and its condition. Each component keeps its own data of the job in a
/// `per_job`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
    live_job(job_config const& from, job_id number, std::size_t table_row, std::size_t place)
        : config(&from), id(number), row(table_row), slot(place) {}

    job_config const* config;
    std::shared_ptr<job_config const> owned;  ///< of a job that came while the run went on: keeps `config`
    job_id id;
    std::size_t row;            ///< in the jobs table, once it has arrived; earlier rows can be erased
    std::size_t slot;           ///< where the components keep their data of it
    bool forgotten = false;     ///< it is over and no part of the run any more; the next job gets its slot
    resize* devices = nullptr;  ///< null: it uses none

    // --- its present incarnation
    incarnation_id run{};
    text<16> token;
    std::optional<process::child> process;
    std::string checkpoint;  ///< its folder; empty before the first launch
    std::int64_t batch = 0;  ///< samples per step; 0: its own choice
    std::optional<nanoseconds> launched_at;
    bool failed_by_host = false;  ///< its last launch has failed, by an error of the machine
    bool launching = false;       ///< between the decision and the process
    bool trains_on = false;  ///< after its Objective: ration does not end it, and the policy sees its Acceptable tier
    bool placed = false;     ///< the backend has it: a process of it may be alive

    // --- as the user sees it
    condition now = condition::waiting;
    std::string why;
    std::optional<nanoseconds> started_at, ended_at;

    /// The keys of the file on its devices. Pre: it uses devices.
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

    /// Whether an incarnation of it was launched, or is about to be.
    [[nodiscard]] bool has_launch() const noexcept { return !token.view().empty(); }
    [[nodiscard]] bool waiting() const noexcept { return now == condition::waiting; }
    [[nodiscard]] bool alive() const noexcept { return process.has_value() && !is_over(now); }
    [[nodiscard]] bool over() const noexcept { return is_over(now); }
};

/// Gives the job another condition, and emits that as an event. Nothing if it has that condition already.
void set_condition(live_job& job, condition state, std::string why, nanoseconds at, event_sink& events);

}  // namespace ration::program
