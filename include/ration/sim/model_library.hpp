// SPDX-License-Identifier: BSL-1.0
/// Models that traces can name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// A model, and the usual values of its jobs where a trace has none: `length`, `least`, `most`,
/// `batch`, `restart_cost`. If `most` or `length` is 0 here, the trace has to provide it.
struct named_model {
    /// The name in traces.
    std::string name;
    /// The model, shared by all jobs.
    std::shared_ptr<job_model const> model;
    /// The usual values.
    job_description usual{.least = 1, .most = 0};
};

/// All models of a run.
using model_library = std::vector<named_model>;

/// The model of this name, or nullptr. O(library).
[[nodiscard]] inline named_model const* find_model(model_library const& library, std::string_view name) noexcept {
    for (auto const& one : library)
        if (one.name == name) return &one;
    return nullptr;
}

}  // namespace ration::sim
