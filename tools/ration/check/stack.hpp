// SPDX-License-Identifier: BSL-1.0
/// Calls on a stack of a chosen size.
#pragma once

#include <cstddef>
#include <functional>

namespace ration::conformance {

/// Runs `body` to its end in a thread with `bytes` of stack. Below are 256 MiB that cannot be touched, so that even one
/// large array cannot jump over them. An exception of `body` comes out of here.
void run_on_stack(std::size_t bytes, std::function<void()> const& body);

}  // namespace ration::conformance
