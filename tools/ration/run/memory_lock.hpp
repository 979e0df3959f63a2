// SPDX-License-Identifier: BSL-1.0
/// Whether this machine can keep the files of a run in memory. Sources: mlock(2), capabilities(7).
#pragma once

#include <cstdint>

#include "common/diagnostics.hpp"
#include "config/config.hpp"

namespace ration::program {

/// Adds a problem if `cache` is more than the memory of the machine, or more than this process may lock.
void check_cache(run_config const& config, diagnostics& problems);

/// Bytes that this process may lock; `unlimited` with CAP_IPC_LOCK.
[[nodiscard]] std::int64_t lockable_memory();

}  // namespace ration::program
