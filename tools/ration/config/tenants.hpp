// SPDX-License-Identifier: BSL-1.0
/// The tenants of a jobs file, or of a file of `ration sim --tenants`: `[[tenant]]` and `half_life`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/tenant.hpp>
#include <ration/units.hpp>

#include "common/diagnostics.hpp"

namespace ration::program {

class table_reader;

struct tenant_config {
    std::string name, parent;  ///< parent: empty = none
    double weight = 1;
    tenant_amounts quota = all_amounts(0), limit = all_amounts(unlimited), lend = all_amounts(unlimited);
    position where, name_at, parent_at;
};

/// Tenants whose parents come before them.
struct tenant_tree {
    std::vector<tenant_config> tenants;
    nanoseconds half_life{};  ///< of their usage; 0 = usage never decays
};

/// `[[tenant]]` and `half_life` of a file. Adds what is wrong to `problems`; then the tree is incomplete.
[[nodiscard]] tenant_tree read_tenants(table_reader& root, diagnostics& problems);

/// The file of `ration sim --tenants`.
[[nodiscard]] tenant_tree load_tenants(std::string const& file, diagnostics& problems);

/// Adds a problem where the quotas of all tenants together exceed the cores or the devices.
void check_quotas(tenant_tree const& tree, millicores cpu, std::int64_t devices, diagnostics& problems);

/// The rows of the table `tenants`, with their names.
struct tenant_rows {
    std::vector<std::string> names;
    std::vector<tenant_description> rows;
    std::map<std::string, std::uint32_t, std::less<>> numbers;  ///< of the names

    /// The row of a name; the number of names if it has none. O(log names).
    [[nodiscard]] std::uint32_t row_of(std::string_view name) const noexcept;
    /// Adds a name, unless it has a row. Returns true if it was added. O(log names).
    bool add(std::string const& name);
};
/// The tenants of the tree, then a tenant of weight 1 for each other name.
[[nodiscard]] tenant_rows rows_of(tenant_tree const& tree, std::span<std::string const> names);

}  // namespace ration::program
