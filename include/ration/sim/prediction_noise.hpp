// SPDX-License-Identifier: BSL-1.0
/// Errors of the predictions that policies read, such as the remaining steps of a job. The simulation itself continues
/// with the exact values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <ration/column.hpp>
#include <ration/sim/rng.hpp>

namespace ration::sim {

/// The columns with predictions. All others are counted during the simulation, or are facts of the trace.
inline constexpr std::string_view predicted_columns[] = {
    "jobs/remaining", "jobs/total_steps",  "jobs/nominal_steps_per_second", "jobs/restart_cost", "jobs/speedup",
    "jobs/goodput",   "jobs/goodput.fixed"};
inline constexpr std::size_t number_of_predictions = std::size(predicted_columns);

/// The index of a column in `predicted_columns`; their number if it is not among them.
[[nodiscard]] constexpr std::size_t prediction_named(std::string_view column) noexcept {
    return static_cast<std::size_t>(std::ranges::find(predicted_columns, column) - std::begin(predicted_columns));
}

/// Multiplies each value of a column by a log-normal factor with median 1, which a job keeps for its life. The factors
/// of two columns are independent.
class prediction_noise {
    std::array<double, number_of_predictions> sigmas_{};

public:
    /// `sigma`: the standard deviation of the factor's logarithm; 0 = exact. Pre: `prediction` is an index in
    /// `predicted_columns`.
    void set(std::size_t prediction, double sigma) noexcept { sigmas_[prediction] = sigma; }
    [[nodiscard]] double sigma(std::size_t prediction) const noexcept { return sigmas_[prediction]; }
    [[nodiscard]] bool none() const noexcept {
        return std::ranges::all_of(sigmas_, [](double sigma) { return sigma == 0; });
    }

    /// The factor of a job; 1 for an exact column.
    template <fixed_string Column>
    [[nodiscard]] double factor(std::uint64_t seed, std::uint64_t job) const noexcept {
        constexpr std::size_t prediction = prediction_named(Column.view());
        static_assert(prediction < number_of_predictions,
                      "ration: this column is not a prediction: name one of predicted_columns");
        constexpr std::uint64_t first_stream = std::uint64_t{1} << 63;  // ids of jobs are streams of other noise
        double const sigma = sigmas_[prediction];
        return sigma == 0 ? 1 : exact::exp(sigma * rng(seed, first_stream + prediction).normal(job));
    }
};

}  // namespace ration::sim
