// SPDX-License-Identifier: BSL-1.0
/// Checks a request against the tables that it is to change, before anything is changed.
#pragma once

#include <ration/host/any_policy.hpp>
#include <ration/result.hpp>

#include "decide/client_tables.hpp"
#include "decide/fault.hpp"
#include "decide/request.hpp"

namespace ration::program {

/// Values of all vector columns together.
inline constexpr std::size_t most_vector_values = std::size_t{1} << 24;

/// Refuses ids that are unknown, taken or named twice, rows without a column that the policy reads, and vectors of
/// unequal length. Returns the widths of the vector columns after the request. O(rows of the request).
[[nodiscard]] result<vector_widths, request_fault> check_request(client_request const& request,
                                                                 client_tables const& tables, any_policy const& policy);

}  // namespace ration::program
