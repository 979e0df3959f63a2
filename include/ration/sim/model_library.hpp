// SPDX-License-Identifier: BSL-1.0
/// Models that traces may name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// A model, and what its jobs are like where a trace says nothing else: `length`, `least`, `most`, `batch`,
/// `restart_cost`. A `most` or a `length` of 0 is for the trace to say.
struct named_model {
    std::string name;
    std::shared_ptr<job_model const> model;
    job_description usual{.least = 1, .most = 0};
};

using model_library = std::vector<named_model>;

/// The model of this name, or nullptr. O(library).
[[nodiscard]] inline named_model const* find_model(model_library const& library, std::string_view name) noexcept {
    for (auto const& one : library)
        if (one.name == name) return &one;
    return nullptr;
}

}  // namespace ration::sim
