// SPDX-License-Identifier: BSL-1.0
/// The CPUs of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ration/process/cpus.hpp>
#include <ration/units.hpp>

#include "run/core_claims.hpp"

namespace ration::program {

/// The CPU that this program may use: its CPUs, or the quota of its groups if that is less. With `count`, at most so
/// many cores.
[[nodiscard]] millicores usable_cpu(std::optional<std::uint32_t> count);

/// Chosen among the CPUs that this process may use, and claimed until the object is destroyed.
class run_cpus {
    core_claims claims_;
    core_choice chosen_;
    millicores amount_;
    std::optional<std::uint32_t> asked_;

public:
    /// `count`: nullopt for all that this process may use. `claims`: the file in which runs claim CPUs; empty: none.
    run_cpus(std::optional<std::uint32_t> count, std::string const& claims);

    [[nodiscard]] process::cpu_set const& all() const noexcept { return chosen_.cpus; }
    /// The CPU that the jobs can use together: less than the CPUs where a group of this program has a smaller quota.
    [[nodiscard]] millicores amount() const noexcept { return amount_; }
    /// A sentence if there are fewer than `count`; empty: there are not.
    [[nodiscard]] std::string missing() const;
    /// A sentence about CPUs that other runs of this user have claimed as well; empty: none.
    [[nodiscard]] std::string shared() const;
};

}  // namespace ration::program
