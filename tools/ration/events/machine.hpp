// SPDX-License-Identifier: BSL-1.0
/// Describes this machine.
#pragma once

#include "events/events.hpp"

namespace ration::program {

[[nodiscard]] machine_facts machine_here();

}  // namespace ration::program
