// SPDX-License-Identifier: BSL-1.0
/// Makes records of runs from the lines of an event log. Nothing of it is trusted; docs/event-log.md describes
/// the lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "events/event_fields.hpp"
#include "report/run_history.hpp"

namespace ration::program {

/// One run. Unknown events are counted by name.
class run_recorder {
    run_history run_;
    std::unordered_map<std::string, std::size_t> places_;  ///< of jobs, by name
    std::unordered_map<std::int64_t, std::size_t> by_id_;
    std::int64_t decision_ = -1;

public:
    /// Takes one event after another, a `run` first. The diagnostic names neither file nor line.
    [[nodiscard]] result<void, diagnostic> take(nlohmann::json const& line);

    /// The record of all lines. Jobs that have not ended by then are open to the end.
    [[nodiscard]] run_history finish() &&;

private:
    using handler = void (run_recorder::*)(event_fields&, std::int64_t);

    void run(event_fields& f, std::int64_t t);
    void job_started(event_fields& f, std::int64_t t);
    void resize(event_fields& f, std::int64_t t);
    void device(event_fields& f, std::int64_t t);
    void delivered(event_fields& f, std::int64_t t);
    void progress(event_fields& f, std::int64_t t);
    void tier_reached(event_fields& f, std::int64_t t);
    void level(event_fields& f, std::int64_t t);
    void condition(event_fields& f, std::int64_t t);
    void decision(event_fields& f, std::int64_t t);
    void item(event_fields& f, std::int64_t t);
    void change(event_fields& f, std::int64_t t);
    void deferred(event_fields& f, std::int64_t t);
    void rejected(event_fields& f, std::int64_t t);
    void warning(event_fields& f, std::int64_t t);
    void policy_log(event_fields& f, std::int64_t t);
    void job_ended(event_fields& f, std::int64_t t);
    void lost(event_fields& f, std::int64_t t);
    void run_ended(event_fields& f, std::int64_t t);

    [[nodiscard]] job_record& job_called(std::string const& name);
    void know_jobs_of(std::string const& source);
    void add(std::int64_t t, std::string what, std::string const& job, std::string const& resource,
             std::string const& from, std::string const& to, std::string const& why);
    /// The columns of one decision.
    [[nodiscard]] result<void, diagnostic> take_columns(nlohmann::json const& columns, nlohmann::json const& after,
                                                        std::int64_t t);
    result<void, diagnostic> parts_;  ///< of the columns of decisions and the summaries of jobs
};

}  // namespace ration::program
