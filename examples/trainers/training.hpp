// SPDX-License-Identifier: BSL-1.0
/// The training loop and its reports.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "adam.hpp"
#include "models.hpp"

namespace trainers {

enum class outcome : std::uint8_t { done, stopped, diverged };

struct schedule {
    std::uint64_t steps;
    std::uint64_t report_every;
};

/// The inputs of the loop from outside.
struct surroundings {
    std::function<batch<float> const&()> next_batch;
    std::function<bool()> stop_asked;
    std::function<void(std::uint64_t step, double loss)> at_step;    ///< loss of that step's batch
    std::function<void(std::uint64_t step, double loss)> at_report;  ///< mean loss of the steps since the report before
    std::function<std::uint64_t(adam<float>&)>
        resume{};  ///< restores a checkpoint, and returns its steps; may be empty
    /// Called after each step; may save. True: the training stops. May be empty.
    std::function<bool(std::uint64_t step, adam<float>&)> obey{};
};

/// Stops in front of a step when asked to, and behind one whose loss is not finite or that `obey` ends. Every
/// `report_every` steps, and at the last one, it reports.
[[nodiscard]] inline outcome train(model<float>& trained, double rate, schedule plan, surroundings const& outside) {
    adam<float> optimiser(trained.learned(), rate);
    double sum = 0;
    std::uint64_t const before = outside.resume ? outside.resume(optimiser) : 0;
    std::uint64_t reported = before;
    for (std::uint64_t step = before + 1; step <= plan.steps; ++step) {
        if (outside.stop_asked()) return outcome::stopped;
        double const loss = trained.learn(outside.next_batch());
        outside.at_step(step, loss);
        sum += loss;
        bool const diverged = !std::isfinite(loss);
        if (diverged || step == plan.steps || step - reported == plan.report_every) {
            outside.at_report(step, sum / static_cast<double>(step - reported));
            reported = step;
            sum = 0;
        }
        if (diverged) return outcome::diverged;
        optimiser.step();
        if (outside.obey && outside.obey(step, optimiser)) return outcome::stopped;
    }
    return outcome::done;
}

}  // namespace trainers
