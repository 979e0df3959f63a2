// SPDX-License-Identifier: BSL-1.0
#include "serve/live_view.hpp"

#include "events/events.hpp"
#include "events/json_writer.hpp"
#include "run/level_events.hpp"
#include "run/resize.hpp"

namespace ration::program {
namespace {

void write_running(json_writer& json, job_table const& table, watched_job const& job, service_folder const& folder) {
    auto const held = table.held_cpu(*job.live);
    auto const& target = *job.progress->target;
    json.member("id", job.stored->id);
    json.member("label", label_of(job.stored->what.name, job.stored->id));
    json.member("array_index", array_index_of(job.stored->what));
    json.member("tenant", job.stored->what.tenant);
    json.member("condition", name_of(job.live->now));
    bool const limited = held > 0 && held != unlimited;
    json.member("held_cores", limited ? std::optional(static_cast<double>(held) / 1000) : std::nullopt);
    json.member("used_cores", table.used_cores(*job.live));
    json.member("devices", job.live->devices == nullptr ? 0 : job.live->devices->state().devices.size());
    json.member("step", job.progress->step);
    json.member("metric", target.metric);
    json.member("first", job.progress->first_value);
    json.member("value", job.progress->smoothed());
    json.member("acceptable", target.acceptable);
    json.member("objective", target.objective);
    json.member("level", target.level ? std::optional(target.level->bound) : std::nullopt);
    json.member("level_met", level_met_by(*job.progress));
    json.member("tier", static_cast<int>(job.progress->tier()));
    json.member("reason", job.reason);
    json.member("continues", job.continues || has_checkpoint(*job.stored, folder));
}

}  // namespace

std::string running_json(job_table const& table, std::span<watched_job const> shown, service_folder const& folder) {
    auto const& store = table.store();
    auto const& cpu = table.columns().resources[static_cast<std::size_t>(resource_id::cpu)];
    std::string text;
    json_writer json(text);
    json.object([&] {
        json.member("cores", static_cast<double>(store[cpu.capacity][0]) / 1000);
        json.key("jobs").array([&] {
            for (auto const& job : shown) json.object([&] { write_running(json, table, job, folder); });
        });
    });
    return text;
}

}  // namespace ration::program
