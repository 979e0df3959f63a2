// SPDX-License-Identifier: BSL-1.0
#include "twin/recording.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include <ration/job.hpp>
#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "events/event_fields.hpp"
#include "events/json_reader.hpp"
#include "events/log_lines.hpp"
#include "events/log_version.hpp"
#include "policies/policy_registry.hpp"
#include "replay/recorded_config.hpp"
#include "report/run_recorder.hpp"

namespace ration::program {
namespace {

constexpr char const* name_a_log = "name a log that 'ration run --log' wrote";

/// The columns of a table in a decision. A value that is not there is NaN.
class decision_columns {
    nlohmann::json const& columns_;

public:
    explicit decision_columns(nlohmann::json const& columns) noexcept : columns_(columns) {}

    [[nodiscard]] std::size_t rows(char const* name) const {
        auto const found = columns_.find(name);
        return found != columns_.end() && found->is_array() ? found->size() : 0;
    }
    [[nodiscard]] double number(char const* name, std::size_t row) const { return read(name, row, number_in); }
    /// Infinite without a limit.
    [[nodiscard]] double amount(char const* name, std::size_t row) const { return read(name, row, amount_in); }

private:
    [[nodiscard]] double read(char const* name, std::size_t row,
                              std::optional<double> (*in)(nlohmann::json const&)) const {
        constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
        return row < rows(name) ? in(columns_.find(name)->at(row)).value_or(nothing) : nothing;
    }
};

/// Larger figures of a log are not measurements, and no integer would hold them.
constexpr double most_counted = 1e15;

[[nodiscard]] bool is_counted(double number) noexcept { return number >= 0 && number < most_counted; }

/// 0 in a log without devices.
[[nodiscard]] std::int64_t devices_in(double amount) {
    return amount >= 0 && amount < 1e6 ? static_cast<std::int64_t>(amount) : 0;
}

/// Makes one run from its lines.
class recording_reader {
    run_recorder recorder_;
    recording run_;
    std::unordered_map<std::string, std::int64_t> ids_;  // by name
    // By id: a job that waits for devices has no name in the log yet
    std::unordered_map<std::int64_t, job_measurements> jobs_;

public:
    /// The first line of a run. The diagnostic names neither file nor line.
    [[nodiscard]] result<void, diagnostic> begin(nlohmann::json const& line, std::vector<std::string> policies) {
        if (auto const read = check_schema(schema_of(line)); !read) return read;
        if (auto const read = recorder_.take(line); !read) return read;
        // The recorder reads no jobs of such a file
        if (line.value("source", std::string()).size() > max_config_bytes)
            return diagnostic{.text = fmt::format("its jobs file is larger than 1 MiB; {}", name_a_log)};
        policies.push_back(line.value("policy", std::string()));
        auto parsed = recorded_config(line, {.policies = policy_names(), .policy_given = true, .named = policies});
        if (!parsed.problems.empty())
            return diagnostic{.text = fmt::format("its jobs file is damaged: {}", to_text(parsed.problems.front()))};
        run_.settings = std::move(parsed.config);
        return {};
    }

    [[nodiscard]] result<void, diagnostic> take(nlohmann::json const& line) {
        if (auto const read = recorder_.take(line); !read) return read;
        event_fields fields(line);
        auto const event = fields.text("event");
        if (event == "job_started") take_launch(fields);
        if (event == "tier_reached") take_tier(fields);
        if (event == "decision") return take_decision(line.at("columns"), nanoseconds{fields.whole("t")});
        return fields.status();
    }

    [[nodiscard]] recording finish() && {
        run_.history = std::move(recorder_).finish();
        for (auto const& job : run_.history.jobs) {
            auto const id = ids_.find(job.name);
            run_.jobs.push_back(id == ids_.end() ? job_measurements{} : std::move(jobs_[id->second]));
        }
        for (std::size_t i = 0; i < std::min(run_.settings.jobs.size(), run_.jobs.size()); ++i)
            if (!run_.settings.jobs[i].elastic) std::erase_if(run_.jobs[i].samples, std::not_fn(&job_sample::runs));
        return std::move(run_);
    }

private:
    void take_launch(event_fields& fields) {
        auto const id = fields.whole("id");
        ids_[fields.text("job")] = id;
        jobs_[id].launches.push_back(nanoseconds{fields.whole("t")});
    }

    void take_tier(event_fields& fields) {
        auto const tier = fields.whole("tier");
        auto const step = static_cast<double>(fields.whole("step"));
        auto const id = ids_.find(fields.text("job"));
        if (id == ids_.end() || tier < 1 || tier > 2) return;
        auto& reached = jobs_[id->second].tier_steps[static_cast<std::size_t>(tier - 1)];
        if (!reached) reached = step;
    }

    [[nodiscard]] result<void, diagnostic> take_decision(nlohmann::json const& columns, nanoseconds now) {
        decision_columns const shown(columns);
        if (shown.rows("nodes/capacity.cpu") != 1)
            return diagnostic{.text = "the run has several nodes; name the log of a run on one machine"};
        std::size_t const number = run_.decisions.size();
        run_.decisions.push_back(
            {now, shown.amount("nodes/capacity.cpu", 0) / 1000, devices_in(shown.amount("nodes/capacity.gpu", 0))});
        for (std::size_t row = 0; row < shown.rows("jobs/id"); ++row) {
            double const id = shown.number("jobs/id", row), state = shown.number("jobs/state", row);
            double const step = shown.number("jobs/step", row), used = shown.number("jobs/used.cpu", row);
            bool const is_active = state <= static_cast<double>(job_state::restarting);
            if (!is_counted(id) || !is_active || !is_counted(step) || !is_counted(used)) continue;
            auto& job = jobs_[static_cast<std::int64_t>(id)];
            job.samples.push_back({.decision = number,
                                   .step = step,
                                   .used_cores = used / 1000,
                                   .has_limit = std::isfinite(shown.amount("jobs/held.cpu", row)),
                                   .runs = state == static_cast<double>(job_state::running),
                                   .devices = devices_in(shown.amount("jobs/held.gpu", row))});
            // Of old logs: they have no estimate of a job that reports none
            char const* const reported =
                shown.rows("jobs/total_steps.reported") > 0 ? "jobs/total_steps.reported" : "jobs/total_steps";
            double const total = shown.number(reported, row);
            if (total > 0 && is_counted(total)) job.total_steps = total;
        }
        return {};
    }
};

/// Sorts the lines of a log into runs.
class log_reader {
    std::vector<std::string> const& policies_;
    std::vector<recording> runs_;
    std::optional<recording_reader> run_;

public:
    explicit log_reader(std::vector<std::string> const& policies) : policies_(policies) {}

    /// The diagnostic names neither file nor line.
    [[nodiscard]] result<void, diagnostic> take(std::string const& text) {
        auto const line = parse_json(text);
        auto const event = line.is_object() ? line.find("event") : line.end();
        if (!line.is_object() || event == line.end())
            return diagnostic{.text = fmt::format("this is not an event; {}", name_a_log)};
        try {
            if (*event == "comparison") return {};
            if (*event == "run") {
                end();
                return run_.emplace().begin(line, policies_);
            }
            if (!run_) return diagnostic{.text = fmt::format("the log does not begin with a run; {}", name_a_log)};
            return run_->take(line);
        } catch (nlohmann::json::exception const& e) {
            return diagnostic{.text = e.what()};
        }
    }
    void end() {
        if (run_) runs_.push_back(std::move(*run_).finish());
        run_.reset();
    }
    [[nodiscard]] std::vector<recording>& runs() noexcept { return runs_; }
};

}  // namespace

result<std::vector<recording>, diagnostic> read_recordings(std::string const& path,
                                                           std::vector<std::string> const& policies) {
    auto lines = log_lines::open(path, name_a_log);
    if (!lines) return diagnostic{.file = path, .text = process::input_sentence(lines.failure())};
    log_reader reader(policies);
    std::int64_t number = 0;
    for (std::string line; lines->next(line);) {
        ++number;
        if (!lines->whole()) break;  // ration or the machine ended in the middle of it
        if (auto const taken = reader.take(line); !taken) return at_line(path, number, taken.failure());
    }
    if (!lines->status()) return at_line(path, number + 1, lines->status().failure());
    reader.end();
    if (reader.runs().empty()) return diagnostic{.file = path, .text = fmt::format("it holds no run; {}", name_a_log)};
    for (auto& run : reader.runs()) {
        run.history.file = path;
        if (run.history.makespan && !run.history.interrupted) continue;
        return diagnostic{
            .file = path,
            .text = fmt::format("the run under {} did not come to its end; name the log of a run that did",
                                quoted(run.history.policy))};
    }
    return std::move(reader.runs());
}

}  // namespace ration::program
