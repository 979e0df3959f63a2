// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Weights of jobs and tenants by which policies can divide.
#pragma once

#include <cstdint>

#include <ration/target.hpp>

namespace ration::policies::detail {

/// The weight of a job or a tenant. An invalid one counts as 1, and so does one that is too small or too large for the
/// quotients and sums of weights.
[[nodiscard]] constexpr double valid_weight(double weight) noexcept {
    return weight >= 1e-100 && weight <= 1e100 ? weight : 1;
}
/// The weight of a tenant; 1 if it has no valid one, or no row.
template <class Tick>
[[nodiscard]] double tenant_weight(Tick const& t, std::uint32_t tenant) noexcept {
    return tenant < t.tenants() ? valid_weight(t.template get<"tenants/weight">()[tenant]) : 1;
}

}  // namespace ration::policies::detail
