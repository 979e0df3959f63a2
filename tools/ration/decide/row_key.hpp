// SPDX-License-Identifier: BSL-1.0
/// The keys of a row of a request: the columns of the catalogue that a client supplies, with the range of their values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/column.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// The form of a value, apart from its type.
enum class value_form : std::uint8_t {
    plain,
    amount,         ///< also "unlimited"
    maybe_unknown,  ///< also "nan", for a value that the client does not have
    state           ///< the name of a `job_state`
};

/// One key of a row. A value is kept as the bits of its column's type, in the low bytes of a word.
struct row_key {
    std::string name;    ///< "min.gpu"
    std::string column;  ///< "jobs/min.gpu"
    column_type type = column_type::f64;
    column_shape shape = column_shape::scalar;
    value_form form = value_form::plain;
    double least = 0, most = 0;  ///< a value has to be in this range
    /// In rows without the key; without a value the key is required if the policy reads the column.
    std::optional<std::uint64_t> otherwise;
    std::string otherwise_text;  ///< the same for pages; empty if there is none
};

/// The largest amount that a request may name: 2^46. Sums over all rows fit into 64 bits.
inline constexpr std::int64_t most_request_amount = std::int64_t{1} << 46;
/// Values in a row of a vector column.
inline constexpr std::size_t most_row_values = 4096;

/// The keys of the table, in the order of the catalogue. Without `id`, and without columns that this host computes
/// (jobs/held.*, nodes/free.*).
[[nodiscard]] std::span<row_key const> keys_of(table_id table);
/// The index of a key; the number of keys if there is none.
[[nodiscard]] std::size_t find_key(table_id table, std::string_view name);

/// The range in words: "a whole number from 0 to 100".
[[nodiscard]] std::string range_of(row_key const& key);

/// One value as bits. Errors: `invalid_value` for another type, `out_of_range`.
[[nodiscard]] result<std::uint64_t> read_value(row_key const& key, nlohmann::json const& value);

}  // namespace ration::program
