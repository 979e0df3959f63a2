// SPDX-License-Identifier: BSL-1.0
/// Jobs as rows of the service's database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/result.hpp>

#include "serve/job_list.hpp"

namespace ration::program {

/// Each entry with a zero byte at its end.
[[nodiscard]] sql_bytes packed(std::vector<std::string> const& entries);

/// "3,17".
[[nodiscard]] std::string text_of(std::vector<std::int64_t> const& numbers);
/// Of a text that `text_of` wrote.
[[nodiscard]] std::vector<std::int64_t> numbers_in(std::string const& text);

/// The jobs of this condition, by their ids, without those in an unknown stage. Errors: those of `database`.
[[nodiscard]] result<std::vector<stored_job>> select_jobs(database& file, std::string const& condition,
                                                          std::vector<sql_value> const& values);

/// The jobs in an unknown stage. O(jobs). Errors: those of `database`.
[[nodiscard]] result<std::vector<unreadable_job>> select_unreadable(database& file);

}  // namespace ration::program
