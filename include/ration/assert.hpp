// SPDX-License-Identifier: BSL-1.0
/// Assertions: a broken precondition is a bug, not an error. It ends the program with one line;
/// input from outside never triggers it.
///
/// Also active in release builds. Input from outside is validated and refused with a `result`
/// (result.hpp).
#pragma once

#include <cstdio>
#include <cstdlib>

#ifndef RATION_ASSERT
/// Checks a precondition. Define it before the first ration header to report in another way; the
/// condition may have no side effects.
#define RATION_ASSERT(condition, message) \
    ((condition) ? static_cast<void>(0) : ::ration::assertion_failed(#condition, message, __FILE__, __LINE__))
#endif

namespace ration {

/// Prints the message, the condition and its place to stderr, and aborts.
[[noreturn]] inline void assertion_failed(char const* condition, char const* message, char const* file,
                                          int line) noexcept {
    std::fprintf(stderr, "ration: %s (%s) at %s:%d\n", message, condition, file, line);
    std::abort();
}

}  // namespace ration
