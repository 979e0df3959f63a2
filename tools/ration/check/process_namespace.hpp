// SPDX-License-Identifier: BSL-1.0
/// A PID namespace, so that no process of a probe can outlive it.
#pragma once

#include <sys/types.h>

namespace ration::conformance {

/// The calling process dies with its parent, at once if that has ended already.
void die_with(pid_t parent) noexcept;

/// Once for each process: its later children are in a PID namespace of their own, if the kernel allows that. The
/// destructor ends all of them, but the caller must have waited for its own children.
class process_namespace {
    pid_t first_ = -1;

public:
    process_namespace();
    process_namespace(process_namespace const&) = delete;
    process_namespace& operator=(process_namespace const&) = delete;
    ~process_namespace();
};

}  // namespace ration::conformance
