// SPDX-License-Identifier: BSL-1.0
/// The CPUs of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ration/process/cpus.hpp>

#include "run/core_claims.hpp"

namespace ration::program {

/// Chosen among the CPUs that this process may use, and claimed until the object is destroyed.
class run_cpus {
    core_claims claims_;
    core_choice chosen_;
    bool limited_;

public:
    /// `count`: nullopt for all that this process may use. `claims`: the file in which runs claim CPUs; empty: none.
    run_cpus(std::optional<std::uint32_t> count, std::string const& claims);

    [[nodiscard]] process::cpu_set const& all() const noexcept { return chosen_.cpus; }
    /// Their number was given.
    [[nodiscard]] bool are_limited() const noexcept { return limited_; }
    /// A sentence about CPUs that other runs of this user have claimed as well; empty: none.
    [[nodiscard]] std::string shared() const;
};

}  // namespace ration::program
