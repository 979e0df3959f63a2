// SPDX-License-Identifier: BSL-1.0
/// What machine this is.
#pragma once

#include "events/events.hpp"

namespace ration::program {

[[nodiscard]] machine_facts machine_here();

}  // namespace ration::program
