// SPDX-License-Identifier: BSL-1.0
// The baselines of the allocation.
#pragma once

#include <optional>
#include <vector>

#include "instance.hpp"

namespace policy_bench {

/// P(j, k) = max over g of value(j, g) + P(j - 1, k - g), with P(0, k) = 0, as a textbook has it: three loops, and a
/// table of choices. Of equals the one with the fewest devices for the last job, then the last but one.
[[nodiscard]] std::vector<std::int64_t> textbook(instance const& of);

/// The same loops turned round, so that the inner one is over devices and the compiler may make vectors of it. Only
/// what the best allocation is worth, not the allocation.
[[nodiscard]] double values_only(instance const& of);

/// The value of the best allocation by GLPK, as a mixed integer programme; nothing when built without it, or when it
/// has no answer within these seconds.
[[nodiscard]] std::optional<double> general_solver(instance const& of, int seconds);
[[nodiscard]] bool has_general_solver();

}  // namespace policy_bench
