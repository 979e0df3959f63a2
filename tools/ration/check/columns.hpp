// SPDX-License-Identifier: BSL-1.0
/// The values of the synthetic cluster under the names that every host uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace ration::conformance {

/// A value before it takes the type of its column.
struct cell {
    std::int64_t whole = 0;
    double real = 0;
};

/// A column that the tool offers; the numbers are those of the ABI.
struct offered_column {
    std::string name;
    std::uint32_t table = 0, type = 0, width = 1, slot = 0;
    bool is_known = true;    ///< of the standard catalogue; others are filled with small numbers
    bool is_needed = false;  ///< the manifest names it

    [[nodiscard]] std::size_t value_size() const noexcept { return type == RATION_U32 || type == RATION_F32 ? 4 : 8; }
};

/// The standard columns of the standard resources.
[[nodiscard]] std::vector<offered_column> standard_offer();

struct held_row {
    std::uint64_t job;
    std::uint32_t node, resource;
    std::int64_t amount;
};
[[nodiscard]] std::vector<held_row> held_rows(world const& w);

/// Value `k` of row `row`.
[[nodiscard]] cell value_of(offered_column const& column, world const& w, std::vector<held_row> const& held,
                            std::size_t row, std::size_t k);

}  // namespace ration::conformance
