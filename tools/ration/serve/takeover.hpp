// SPDX-License-Identifier: BSL-1.0
/// The state folder of the service, which one service has at a time.
#pragma once

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

#include "serve/definition.hpp"

namespace ration::program {

/// Makes the folders, all of this user alone. Returns the first one, which is locked while the service lives.
/// `replace`: ends the service that has it, and waits at most 30 s for that; its jobs run on. Otherwise it waits 2 s.
/// Errors: `busy` if another service has the folder; those of the folders.
[[nodiscard]] result<process::descriptor> open_state(service_folder const& folder, bool replace);

}  // namespace ration::program
