// SPDX-License-Identifier: BSL-1.0
/// Words of the command line that name jobs of the service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/exit_code.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

/// The number of a job that a word names: "17" or its label, "vae-17". None for another word.
[[nodiscard]] std::optional<std::int64_t> job_named(std::string const& word);
/// The job of a number or a label, if there is one. The name of a label has to be the job's.
[[nodiscard]] result<std::optional<stored_job>> find_named(job_list& list, std::string const& word);
/// Whether a word, which has the number of the job, is its number or its label.
[[nodiscard]] bool is_name_of(stored_job const& job, std::string const& word);
/// Prints that there is none.
[[nodiscard]] exit_code unknown_job(std::string const& word);

}  // namespace ration::program
