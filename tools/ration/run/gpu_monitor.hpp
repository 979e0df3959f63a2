// SPDX-License-Identifier: BSL-1.0
/// The GPUs of a run: cordons those with a fault, and finds out when a job has left its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/event_sink.hpp"
#include "run/gpu_watch.hpp"
#include "run/host_devices.hpp"
#include "run/per_job.hpp"
#include "run/scheduler.hpp"

namespace ration::program {

/// Without GPUs nothing is probed, and every answer is known at once.
class gpu_monitor {
    host_devices const& devices_;
    device_table& table_;
    scheduler& scheduler_;
    event_sink& events_;
    std::optional<gpu_watch> watch_;
    per_job<std::optional<std::uint64_t>> awaited_;  // the probe that a failure, a launch or an end waits for

public:
    gpu_monitor(host_devices const& devices, device_table& table, std::size_t jobs, scheduler& scheduler,
                event_sink& events)
        : devices_(devices), table_(table), scheduler_(scheduler), events_(events), awaited_(jobs) {}

    /// From now on the GPUs are probed.
    void start(nanoseconds now);
    /// Classifies the newest probe, if there is one. Never waits.
    void probe(nanoseconds now);
    /// Readable when there is a probe to classify; -1: never.
    [[nodiscard]] int fd() const noexcept { return watch_ ? watch_->fd() : -1; }

    /// Whether a probe was classified that began when this was first called for the job, or later.
    [[nodiscard]] bool has_probed(live_job const& job, nanoseconds now);
    void forget_probe(live_job const& job) { awaited_[job].reset(); }
    [[nodiscard]] bool awaits_probe(live_job const& job) const noexcept { return awaited_[job].has_value(); }
    /// Whether no process of the job uses its devices any more. On CPU devices that is so when its processes are gone;
    /// also on shares of a GPU, where other jobs compute all the time.
    [[nodiscard]] bool has_left_devices(live_job const& job, nanoseconds now);

    /// All GPUs of the machine as the newest probe shows them; nothing where none are probed.
    [[nodiscard]] std::optional<std::span<cuda::found_gpu const>> found() const noexcept {
        return watch_ ? std::optional(std::span<cuda::found_gpu const>(watch_->seen().gpus)) : std::nullopt;
    }

private:
    [[nodiscard]] std::vector<std::string> idle_devices() const {
        return names_of(table_.devices(), table_.of(job_id{}));
    }
};

}  // namespace ration::program
