// SPDX-License-Identifier: BSL-1.0
/// Records the system calls of a plugin.
#pragma once

#include <string>

namespace ration::conformance {

/// From now on a system call that a filter of this process traps fails with EPERM, as in a worker, and is remembered.
void remember_refused_calls() noexcept;

/// From now on this thread gets memory, the time and its other threads from the kernel, and of the rest nothing: such a
/// call fails with EPERM, as in a worker, and is remembered. For the rest of the thread's life. Pre: inside the
/// sandbox. False where the kernel refuses the filter.
[[nodiscard]] bool refuse_kernel_calls() noexcept;

/// The first call that was refused, in any thread, since the last call of this; by its name in section 2 of the manual.
/// Empty when none was.
[[nodiscard]] std::string take_refused_call();

/// While one lives, what is refused is the program's own business and is not remembered.
class calls_of_the_program {
    bool remembered_;

public:
    calls_of_the_program() noexcept;
    calls_of_the_program(calls_of_the_program const&) = delete;
    calls_of_the_program& operator=(calls_of_the_program const&) = delete;
    ~calls_of_the_program();
};

}  // namespace ration::conformance
