// SPDX-License-Identifier: BSL-1.0
#include "replay/recorded_tick.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <fmt/core.h>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/column_type.hpp"
#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "config/config.hpp"

namespace ration::program {
namespace {

/// A whole number that the type can hold.
template <std::integral T>
[[nodiscard]] bool take(nlohmann::json const& value, T& into) {
    if (!value.is_number_integer()) return false;
    bool const fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    if (fits) into = value.get<T>();
    return fits;
}

/// A number, or one of the words for values that JSON cannot write as numbers.
template <std::floating_point T>
[[nodiscard]] bool take(nlohmann::json const& value, T& into) {
    if (value.is_number()) {
        auto const number = value.get<double>();
        bool const fits = !(std::abs(number) > static_cast<double>(std::numeric_limits<T>::max()));
        if (fits) into = static_cast<T>(number);
        return fits;
    }
    if (value == "nan")
        into = std::numeric_limits<T>::quiet_NaN();
    else if (value == "inf")
        into = std::numeric_limits<T>::infinity();
    else if (value == "-inf")
        into = -std::numeric_limits<T>::infinity();
    else
        return false;
    return true;
}

template <ColumnValue T>
[[nodiscard]] bool fill(snapshot_store& store, std::string const& name, std::size_t rows, column_shape shape,
                        nlohmann::json const& values) {
    if (!values.is_array()) return false;
    if (rows == 0 && shape == column_shape::vector) return values.empty();  // only `begin` may have its width
    std::size_t const width = shape == column_shape::scalar ? 1 : values.size() / rows;
    if (width == 0 || values.size() != rows * width) return false;
    auto const column = store.declare<T>(name, static_cast<std::uint32_t>(width));
    if (!column) return false;
    auto const cells = store[*column];
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!take(values[i], cells[i])) return false;
    return true;
}

/// Rows of each table in one run: a log must not decide how much memory is taken.
constexpr std::array<std::size_t, table_count> most_rows{max_jobs, 1024, std::size_t{1} << 16, max_tenants};
/// The tables of schemas 1 and 2, which have no tenants.
constexpr std::size_t tables_without_tenants = 3;

[[nodiscard]] result<void, diagnostic> resize_tables(snapshot_store& store, nlohmann::json const& rows) {
    if (rows.size() != table_count && rows.size() != tables_without_tenants)
        return diagnostic{.text = fmt::format("rows names {} tables instead of {}", rows.size(), table_count)};
    for (std::size_t t = 0; t < rows.size(); ++t) {
        if (!rows[t].is_number_unsigned() || rows[t].get<std::size_t>() > most_rows[t])
            return diagnostic{.text = fmt::format("rows has {} for table {}; a run has at most {}",
                                                  quoted(rows[t].dump()), t, most_rows[t])};
        if (!store.resize(static_cast<table_id>(t), rows[t].get<std::size_t>()))
            return diagnostic{.text = "no memory is left for its tables"};
    }
    return {};
}

/// A log without tenants has none of their columns, and a policy may read them nevertheless.
[[nodiscard]] bool declare_tenants(snapshot_store& store) {
    auto const declare = [&](std::string const& name, column_type type) {
        return store.find<std::uint32_t>(name) || store.declare(name, type, 1);
    };
    for (auto const& known : catalogue) {
        if (table_index_of(std::string(known.name) + "x") != static_cast<std::size_t>(table_id::tenants)) continue;
        if (!is_family(known.name)) {
            if (!declare(std::string(known.name), known.type)) return false;
            continue;
        }
        for (auto const& r : standard_resources)
            if (!declare(std::string(known.name) + std::string(r.name), known.type)) return false;
    }
    return true;
}

/// Policies look ids up by halves.
template <class Before>
[[nodiscard]] bool ascends(snapshot_store const& store, std::string_view name, Before before) {
    auto const column = store.find<std::uint64_t>(name);
    if (!column) return true;
    auto const values = store[*column];
    return std::ranges::adjacent_find(values, [&](std::uint64_t a, std::uint64_t b) { return !before(a, b); }) ==
           values.end();
}

[[nodiscard]] bool take_grant(nlohmann::json const& from, grant& into) {
    std::int64_t amount = unlimited;
    bool const known = from.at("amount") == "unlimited" || take(from.at("amount"), amount);
    into.amount = amount;
    return known && take(from.at("job"), into.job) && take(from.at("node"), into.node) &&
           take(from.at("resource"), into.resource) && take(from.at("reason"), into.reason) &&
           take(from.at("group"), into.group);
}

}  // namespace

result<void, diagnostic> recorded_tick::begin(nlohmann::json const& run) {
    constexpr std::uint32_t widest = 1u << 16;
    *this = recorded_tick(also_);
    auto const widths = run.find("widths");
    if (widths == run.end()) return {};
    if (!widths->is_object()) return diagnostic{.text = "its widths are not an object"};
    for (auto const& [name, width] : widths->items()) {
        std::size_t const known = index_in_catalogue(name);
        if (known == catalogue_size || catalogue[known].shape != column_shape::vector) continue;
        if (!width.is_number_unsigned() || width > widest)
            return diagnostic{.text =
                                  fmt::format("the width of column {} is not a whole number up to {}", name, widest)};
        bool const declared = with_type(catalogue[known].type, [&]<class T>() {
            return static_cast<bool>(store_.declare<T>(name, width.get<std::uint32_t>()));
        });
        if (!declared)
            return diagnostic{.text = fmt::format("a column {} of width {} cannot be had", name, width.dump())};
    }
    widths_known_ = true;
    return {};
}

result<void, diagnostic> recorded_tick::load(nlohmann::json const& line) {
    try {
        data_ = {.data = store_.view()};
        if (!take(line.at("number"), data_.number) || !take(line.at("seed"), data_.seed) ||
            !take(line.at("t"), data_.now.count) || !take(line.at("budget"), data_.budget.count))
            return diagnostic{.text = "number, seed, t and budget have to be whole numbers"};
        if (auto const read = resize_tables(store_, line.at("rows")); !read) return read;
        for (auto const& [name, values] : line.at("columns").items())
            if (auto const read = load_column(name, values); !read) return read;
        if (!declare_tenants(store_)) return diagnostic{.text = "no memory is left for its tables"};
        if (!ascends(store_, "jobs/id", std::ranges::less{})) return diagnostic{.text = "column jobs/id has to ascend"};
        if (!ascends(store_, "held/job", std::ranges::less_equal{}))
            return diagnostic{.text = "column held/job has to ascend"};
        grants_.clear();
        for (auto const& g : line.at("grants"))
            if (!take_grant(g, grants_.emplace_back()))
                return diagnostic{.text =
                                      "a grant is not whole: it needs job, node, resource, reason, group and amount"};
        return {};
    } catch (nlohmann::json::exception const& e) {
        return diagnostic{.text = e.what()};
    }
}

column_description const* recorded_tick::description_of(std::string_view name) const noexcept {
    std::size_t const standard = index_in_catalogue(name);
    if (standard < catalogue_size) return &catalogue[standard];
    auto const own = std::ranges::find(also_, name, &column_description::name);
    return own == also_.end() ? nullptr : &*own;
}

result<void, diagnostic> recorded_tick::load_column(std::string const& name, nlohmann::json const& values) {
    auto const* const known = description_of(name);
    std::size_t const table = table_index_of(name);
    if (known == nullptr || table == table_count) return {};
    std::size_t const rows = store_.rows(static_cast<table_id>(table));
    bool const good =
        with_type(known->type, [&]<class T>() { return fill<T>(store_, name, rows, known->shape, values); });
    if (good) return {};
    return diagnostic{.text =
                          fmt::format("column {} has not one value of its type for each of its {} rows", name, rows)};
}

std::vector<grant> recorded_tick::held() const {
    auto const id = store_.find<std::uint64_t>("jobs/id"), job = store_.find<std::uint64_t>("held/job");
    auto const node = store_.find<std::uint32_t>("held/node"), resource = store_.find<std::uint32_t>("held/resource");
    auto const amount = store_.find<std::int64_t>("held/amount");
    std::vector<grant> all;
    if (!id || !job || !node || !resource || !amount) return all;
    auto const ids = store_[*id];
    for (std::size_t i = 0; i < store_.rows(table_id::held); ++i) {
        auto const row = std::ranges::lower_bound(ids, store_.at(*job, i));
        if (row == ids.end() || *row != store_.at(*job, i)) continue;  // of a job that is not in the log
        all.push_back({.job = static_cast<std::uint32_t>(row - ids.begin()),
                       .node = store_.at(*node, i),
                       .resource = static_cast<std::uint16_t>(store_.at(*resource, i)),
                       .amount = store_.at(*amount, i)});
    }
    return all;
}

std::uint64_t recorded_tick::job_id(std::size_t row) const noexcept {
    auto const ids = store_.find<std::uint64_t>("jobs/id");
    return ids && row < store_.rows(table_id::jobs) ? store_.at(*ids, row) : 0;
}

}  // namespace ration::program
