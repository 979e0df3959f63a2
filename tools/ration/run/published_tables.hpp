// SPDX-License-Identifier: BSL-1.0
/// The tables that a policy was shown, kept for the event log: its grants change the tables before they are logged.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <ration/host/any_policy.hpp>

#include "policies/forwarding_policy.hpp"

namespace ration::program {

/// Whether the grants of a tick change this column within the tick: what jobs hold, and what is left over on nodes.
[[nodiscard]] bool is_changed_by_grants(column_info const& column) noexcept;

/// Asks another policy, and keeps the tables as they were then. Only columns that grants change are copied, into memory
/// of `bind`; of the others it keeps where they are, so `last` holds until rows come or go.
class published_tables final : public forwarding_policy {
    struct copied_column {
        column_info column;
        std::vector<std::byte> values{};
    };

    std::vector<copied_column> copied_;
    std::array<std::vector<void const*>, table_count> slots_;
    std::array<table_view, table_count> tables_;
    std::array<table_view const*, table_count> views_;

public:
    explicit published_tables(any_policy& policy) noexcept;
    published_tables(published_tables const&) = delete;
    published_tables& operator=(published_tables const&) = delete;

    /// The tables of the last `decide`; without a row before the first one.
    [[nodiscard]] snapshot last() const noexcept { return {views_.data()}; }

    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override;
    /// The log has the sums of tenants in any case.
    [[nodiscard]] bool reads(std::string_view column) const noexcept override {
        return column.starts_with("tenants/") || inner().reads(column);
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override;

private:
    void keep(snapshot const& data);
};

}  // namespace ration::program
