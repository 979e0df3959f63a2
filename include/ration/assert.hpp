// SPDX-License-Identifier: BSL-1.0
/// Broken preconditions are bugs, not errors: they end the program with one line. Never triggered by outside input.
#pragma once

#include <cstdio>
#include <cstdlib>

#ifndef RATION_ASSERT
/// Define it before the first ration header to report in your own way.
#define RATION_ASSERT(condition, message) \
    ((condition) ? static_cast<void>(0) : ::ration::assertion_failed(#condition, message, __FILE__, __LINE__))
#endif

namespace ration {

[[noreturn]] inline void assertion_failed(char const* condition, char const* message, char const* file,
                                          int line) noexcept {
    std::fprintf(stderr, "ration: %s (%s) at %s:%d\n", message, condition, file, line);
    std::abort();
}

}  // namespace ration
