// SPDX-License-Identifier: BSL-1.0
/// The outcome of `ration measure tune`, as a table and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/search_space.hpp"
#include "measure/successive_halving.hpp"

namespace ration::program {

struct tune_result {
    std::string file, job;
    std::vector<parameter_values> space;
    std::vector<parameter_setting> settings;  ///< by index of a candidate; 0 is the present one
    std::vector<std::string> failures;        ///< the same; empty: it has a speed
    std::vector<halving_candidate> ranking;   ///< of those that were launched
    std::size_t fitting = 0;                  ///< settings that keep the rules, with the present one
    std::size_t runs = 0;
    std::uint32_t repeat = 0;
    bool samples = false;  ///< speeds are in samples per second
};

/// Those with a speed in the last rounds; nullptr: the setting was not launched, or failed.
[[nodiscard]] halving_candidate const* present_of(tune_result const& all) noexcept;
/// The fastest setting if it is faster than the present one beyond the error of the measurement, otherwise the present
/// one. It is the fastest one too if the present one has no speed. nullptr: no setting has a speed.
[[nodiscard]] halving_candidate const* best_of(tune_result const& all);

/// The ten fastest settings, the present one, and a sentence on the best.
[[nodiscard]] std::string tune_text(tune_result const& all);
/// One line, without its end.
[[nodiscard]] std::string tune_json(tune_result const& all);

}  // namespace ration::program
