// SPDX-License-Identifier: BSL-1.0
/// Models of the phases of jobs as a file: `ration measure phases` writes it, and `ration run` reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ration/estimators/phase_model.hpp>
#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>

#include "config/config.hpp"

namespace ration::program {

/// Of one file.
inline constexpr std::size_t most_phase_classes = 512;

/// The models of the classes. The class of a job is its name; in a service, that which its submitter gave it.
struct phase_models {
    std::vector<std::string> classes;
    std::vector<estimators::phase_model> models;  ///< of the classes, in their order

    [[nodiscard]] bool empty() const noexcept { return models.empty(); }
    /// The value of `jobs/class`; the number of classes for a job without a model.
    [[nodiscard]] std::uint32_t class_of(std::string_view name) const noexcept;
};

/// One line of JSON without newline; docs/measure.md has the schema.
[[nodiscard]] std::string phase_models_json(phase_models const& all);

/// Reads that line. Errors: it is not such a document, a value cannot be applied, or two classes have one name. They
/// name no file.
[[nodiscard]] result<phase_models, diagnostic> parse_phase_models(std::string_view text);

/// Reads the file that the table `phases = { models = "FILE" }` of a jobs file names, relative to the folder of the
/// jobs file. Empty without the table. Errors: those of the table, of reading the file, and of `parse_phase_models`.
[[nodiscard]] result<phase_models, diagnostic> phase_models_of(run_config const& config);

}  // namespace ration::program
