// SPDX-License-Identifier: BSL-1.0
/// Where a job with devices is placed.
#pragma once

#include <string>

#include <ration/process/cpus.hpp>

namespace ration::program {

struct job_location {
    process::cpu_set cpus{};  ///< that it is bound to; empty: none in particular
    std::string why;          ///< sentences for people; empty: its devices were chosen by number

    /// The CPUs as the kernel lists them.
    [[nodiscard]] std::string cpu_list() const;
};

}  // namespace ration::program
