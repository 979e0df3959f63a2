// SPDX-License-Identifier: BSL-1.0
/// The phases of a resize, as a resize has them and as the record of a run names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "events/events.hpp"

namespace ration::program {

enum class resize_phase : std::uint8_t {
    queued,       ///< no process; waits for devices
    starting,     ///< to be launched, or launched and not yet seen to work with its devices
    steady,       ///< runs at its size
    saving,       ///< asked for a checkpoint, trains on until it is written
    stopping,     ///< has its checkpoint, asked to stop
    terminating,  ///< SIGTERM was sent
    killing,      ///< SIGKILL was sent
    clearing,     ///< its first process is gone; waits until nothing of it is left, on its devices neither
    over,         ///< the job has ended
};

[[nodiscard]] constexpr std::string_view name_of(resize_phase phase) noexcept {
    constexpr std::string_view names[] = {"queued",      "starting", "steady",   "saving", "stopping",
                                          "terminating", "killing",  "clearing", "over"};
    return names[static_cast<std::size_t>(phase)];
}

/// None for a word that names no phase.
[[nodiscard]] constexpr std::optional<resize_phase> phase_named(std::string_view word) noexcept {
    for (int p = 0; p <= static_cast<int>(resize_phase::over); ++p)
        if (name_of(static_cast<resize_phase>(p)) == word) return static_cast<resize_phase>(p);
    return std::nullopt;
}

/// The step that a job reports when it enters a phase.
[[nodiscard]] constexpr resize_step step_of(resize_phase phase) noexcept {
    switch (phase) {
        case resize_phase::queued: return resize_step::queued;
        case resize_phase::starting: return resize_step::starting;
        case resize_phase::saving: return resize_step::saving;
        case resize_phase::stopping: return resize_step::stopping;
        case resize_phase::terminating: return resize_step::terminating;
        case resize_phase::killing: return resize_step::killing;
        case resize_phase::clearing: return resize_step::clearing;
        case resize_phase::steady:
        case resize_phase::over: break;
    }
    return resize_step::settled;
}

}  // namespace ration::program
