// SPDX-License-Identifier: BSL-1.0
/// The backup of the service's database, which each start replaces unless it has jobs that the database has lost.
#pragma once

#include <cstdint>
#include <string>

#include <ration/result.hpp>

#include "serve/database.hpp"

namespace ration::program {

/// The jobs of the backup that the database lacks, and the highest number in the backup.
struct backup_jobs {
    std::int64_t missing = 0, highest = 0;
};

/// Replaces the backup of the file at `path`, if that has all of its jobs. Errors: those of `database`; `io`.
[[nodiscard]] result<backup_jobs> back_up(database& file, std::string const& path);

}  // namespace ration::program
