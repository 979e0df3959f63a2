// SPDX-License-Identifier: BSL-1.0
/// Access to the tables of a tick, for policies that ask another policy.
#pragma once

#include <cstdint>
#include <string_view>

#include <ration/policy.hpp>

namespace ration::program {

/// A value of a column of the jobs table.
template <class T>
[[nodiscard]] T job_value(tick_data const& t, std::uint32_t slot, std::size_t row) noexcept {
    return static_cast<T const*>(t.data[table_id::jobs].slot[slot])[row];
}

/// Errors: the host does not offer the column.
[[nodiscard]] inline result<std::uint32_t> slot_of(std::span<column_info const> schema,
                                                   std::string_view column) noexcept {
    auto const* const found = find_column(schema, column);
    if (found != nullptr) return found->slot;
    return error{.code = errc::not_found, .operation = "bind the policy of several nodes", .subject = column};
}

}  // namespace ration::program
