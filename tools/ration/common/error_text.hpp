// SPDX-License-Identifier: BSL-1.0
/// An error as one sentence: what, where, what to do next.
#pragma once

#include <string>

#include <ration/result.hpp>

namespace ration::program {

/// "write cpu.max of jobs/vae: permission denied (EACCES); run as root".
[[nodiscard]] std::string to_text(error const& e);

}  // namespace ration::program
