// SPDX-License-Identifier: BSL-1.0
#include "report/job_fields.hpp"

#include "common/quantity.hpp"
#include "config/target.hpp"

namespace ration::program {

void read_job(table const& from, job_record& job, diagnostics& ignored) {
    table_reader keys(from, "[[job]]", ignored);
    if (auto const* const at = keys.take<std::string>("at", ""))
        if (auto const when = parse_duration(*at)) job.arrived = when->count;
    auto const target = read_target(keys, ignored);
    job.metric = shortened(target.metric, longest_name);
    job.acceptable = target.acceptable;
    job.objective = target.objective;
    if (target.level) job.level = target.level->bound;
}

void read_summary(event_fields& from, job_record& job) {
    job.how = shortened(from.text("how"), longest_name);
    job.why = shortened(from.text("why"), longest_text);
    job.arrived = from.whole("arrived");
    job.started = from.maybe_whole("started");
    job.acceptable_at = from.maybe_whole("acceptable_at");
    job.objective_at = from.maybe_whole("objective_at");
    job.ended_at = from.maybe_whole("ended_at");
    if (from.has("device_seconds")) job.device_seconds = from.number("device_seconds");
    if (from.has("step")) job.last_step = from.whole("step");
    if (from.has("level_met")) job.level_met = from.maybe_number("level_met");
    if (from.has("released")) job.released = from.boolean("released");
}

}  // namespace ration::program
