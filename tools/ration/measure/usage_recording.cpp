// SPDX-License-Identifier: BSL-1.0
#include "measure/usage_recording.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <ration/estimators/usage_sampler.hpp>
#include <ration/job.hpp>
#include <ration/process/input_file.hpp>

#include "events/event_fields.hpp"
#include "events/json_reader.hpp"
#include "events/log_lines.hpp"

namespace ration::program {
namespace {

constexpr char const* name_a_run_log = "name a log that 'ration run --log' wrote";

/// Larger figures of a log are not measurements.
constexpr double most_counted = 1e15;

/// A value of a column in a decision; NaN if it is missing. `read` understands it.
[[nodiscard]] double value_in(nlohmann::json const& columns, char const* name, std::size_t row,
                              std::optional<double> (*read)(nlohmann::json const&)) {
    auto const column = columns.find(name);
    if (column == columns.end() || !column->is_array() || row >= column->size())
        return std::numeric_limits<double>::quiet_NaN();
    return read((*column)[row]).value_or(std::numeric_limits<double>::quiet_NaN());
}

/// Makes samples of the decisions of one log.
class usage_reader {
    struct recorded {
        std::string name;
        estimators::usage_sampler sampler;
        std::vector<estimators::usage_sample> samples;
    };

    double period_;
    usage_by_job& to_;
    std::map<std::int64_t, recorded> jobs_;  // of the present run, by id

public:
    usage_reader(nanoseconds period, usage_by_job& to) noexcept : period_(to_seconds(period)), to_(to) {}

    /// Returns false if the line is not an event.
    [[nodiscard]] bool take(std::string const& text) {
        auto const line = parse_json(text);
        auto const event = line.is_object() ? line.find("event") : line.end();
        if (!line.is_object() || event == line.end()) return false;
        event_fields fields(line);
        if (*event == "run") end_run();
        if (*event == "job_started") jobs_[fields.whole("id")].name = fields.text("job");
        auto const columns = line.find("columns");
        if (*event == "decision" && columns != line.end() && columns->is_object())
            take_decision(*columns, nanoseconds{fields.whole("t")});
        return static_cast<bool>(fields.status());
    }
    void end_run() {
        for (auto& [id, job] : jobs_)
            if (!job.name.empty() && !job.samples.empty()) to_[job.name].push_back(std::move(job.samples));
        jobs_.clear();
    }

private:
    void take_decision(nlohmann::json const& columns, nanoseconds now) {
        auto const ids = columns.find("jobs/id");
        if (ids == columns.end() || !ids->is_array()) return;
        for (std::size_t row = 0; row < ids->size(); ++row) {
            double const id = value_in(columns, "jobs/id", row, number_in);
            double const state = value_in(columns, "jobs/state", row, number_in);
            if (!(id >= 0 && id < most_counted) || state != static_cast<double>(job_state::running)) continue;
            double const used = value_in(columns, "jobs/used.cpu", row, number_in);
            double const memory = value_in(columns, "jobs/used.memory", row, number_in);
            // A job that was just launched has not been measured
            if (!(used >= 0 && used < most_counted) || !(memory > 0 && memory < most_counted)) continue;
            double const limit = value_in(columns, "jobs/held.cpu", row, amount_in);
            double const part = value_in(columns, "jobs/throttled.cpu", row, number_in);
            bool const is_at_limit = limit > 0 && std::isfinite(limit) && used >= 0.95 * limit;
            auto& job = jobs_[static_cast<std::int64_t>(id)];
            estimators::usage_sample sample;
            if (job.sampler.take({.now = now, .cpu = used, .memory = memory, .throttled = is_at_limit ? 1 : part},
                                 period_, sample))
                job.samples.push_back(sample);
        }
    }
};

}  // namespace

result<void, diagnostic> add_usage(std::string const& path, nanoseconds period, usage_by_job& to) {
    auto lines = log_lines::open(path, name_a_run_log);
    if (!lines) return diagnostic{.file = path, .text = process::input_sentence(lines.failure())};
    usage_reader reader(period, to);
    std::uint64_t number = 0;
    for (std::string line; lines->next(line);) {
        ++number;
        if (!lines->whole()) break;  // ration or the machine ended in the middle of it
        if (!reader.take(line))
            return diagnostic{
                .file = path, .line = number, .text = std::string("the line is not an event; ") + name_a_run_log};
    }
    if (!lines->status()) return at_line(path, number + 1, lines->status().failure());
    reader.end_run();
    return {};
}

}  // namespace ration::program
