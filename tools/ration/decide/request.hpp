// SPDX-License-Identifier: BSL-1.0
/// One line of a client, read and checked by itself: the rows of whole tables, or those that have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/column.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>

#include "decide/client_id.hpp"
#include "decide/fault.hpp"

namespace ration::program {

/// Bytes of a request, and rows of a table: an input must not decide how much memory is taken.
inline constexpr std::size_t most_request_bytes = std::size_t{16} << 20;
inline constexpr std::size_t most_client_jobs = std::size_t{1} << 16, most_client_nodes = 4096,
                             most_holdings = std::size_t{1} << 16;
/// Bytes of an id that is a text.
inline constexpr std::size_t longest_id = 200;

/// The values of one row: for each given key its index in `keys_of`, and its values as bits.
struct row_cell {
    std::uint32_t key = 0;
    std::uint32_t first = 0, count = 0;  ///< in `client_request::values`
};
struct client_row {
    client_id id;
    std::string pointer;               ///< of the row in the line
    std::size_t first = 0, count = 0;  ///< in `client_request::cells`
};
struct removed_row {
    client_id id;
    std::string pointer;
};

/// The rows of jobs or nodes.
struct table_change {
    bool replaces = false;  ///< the table is an array: `added` is all of it
    std::vector<client_row> added, changed;
    std::vector<removed_row> removed;
    [[nodiscard]] bool is_empty() const noexcept {
        return !replaces && added.empty() && changed.empty() && removed.empty();
    }
};

/// The amount of one resource that a job holds on one node.
struct client_holding {
    client_id job, node;
    resource_id resource{};
    std::int64_t amount = 0;
    std::string pointer;
};
struct holding_change {
    bool replaces = false;
    std::vector<client_holding> rows;
};

struct client_request {
    std::optional<std::int64_t> t;  ///< ns on the client's clock
    std::optional<std::uint64_t> seed;
    table_change jobs, nodes;
    holding_change held;
    std::vector<row_cell> cells;
    std::vector<std::uint64_t> values;

    [[nodiscard]] std::span<row_cell const> cells_of(client_row const& row) const noexcept {
        return std::span(cells).subspan(row.first, row.count);
    }
    [[nodiscard]] std::span<std::uint64_t const> values_of(row_cell const& cell) const noexcept {
        return std::span(values).subspan(cell.first, cell.count);
    }
};

/// Reads a request. Rows are checked by themselves: not against the tables, nor against each other.
[[nodiscard]] result<client_request, request_fault> read_request(nlohmann::json const& line);

}  // namespace ration::program
