// SPDX-License-Identifier: BSL-1.0
/// The tables of the service's database, and the steps from each earlier version of them.
#pragma once

#include <cstdint>

#include <ration/result.hpp>

#include "serve/database.hpp"

namespace ration::program {

/// The version that this program writes.
[[nodiscard]] std::int64_t newest_schema() noexcept;

/// Brings the tables of a new or an older file to the newest version, in one transaction, and records each step with
/// its time in the table `migrations`. Errors: `not_supported` (a newer ration has written the file), those of
/// `database`.
[[nodiscard]] result<void> migrate(database& file, std::int64_t now_ms);

/// Whether a file that is only read has the newest version. Errors: `not_supported`, those of `database`.
[[nodiscard]] result<void> check_schema(database& file);

}  // namespace ration::program
