// SPDX-License-Identifier: BSL-1.0
/// `ration sim --generate`: jobs that are made up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/sim/generator.hpp>
#include <ration/sim/model_library.hpp>

#include "common/diagnostics.hpp"
#include "sim/input.hpp"

namespace ration::program {

/// A workload that is made up.
struct generated {
    enum class kind : std::uint8_t { rigid, scaling, profiled, cpu, serving, phases } of = kind::rigid;
    sim::generator_options how;
    std::size_t data_sets = 0;  ///< each job reads one of them; 0: no job reads
};

/// "rigid", "scaling:jobs=200,per_hour=40,arrivals=bursty". The diagnostic does not name the option.
[[nodiscard]] result<generated, diagnostic> parse_generator(std::string_view text);

/// Adds a sample for each seed to `input`, or to `problems` why the machines cannot run such jobs.
void generate(simulation_options const& options, sim::model_library const& library, simulation_input& input,
              diagnostics& problems);

/// Refuses jobs of a kind that the machines have nothing for.
[[nodiscard]] result<void, diagnostic> check_machines(sim::workload const& jobs, sim::cluster const& machines);

}  // namespace ration::program
