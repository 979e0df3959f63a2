// SPDX-License-Identifier: BSL-1.0
/// A scheduler's own table of jobs, in which each member of one struct is a column. A policy reads
/// the scheduler's memory directly where the layout allows it; the rest is copied in one pass:
///
///     struct jobs { std::vector<std::uint64_t> id; std::vector<double> loss, used_cpu; };
///     BOOST_HANA_ADAPT_STRUCT(queue::jobs, id, loss, used_cpu);
///     auto const answer = ration::allocate(policy, ration::adapted_table(all), machine);
///
/// A vector column, such as `speedup`, is a range of `std::array<T, N>`: a row has N values. Direct
/// reading requires rows in ascending order of `id`, and elements of the column's own type, one
/// after another. Always copied are `id`, `min_*` and `max_*`, which the validation reads after the
/// policy has run, and losses, which have to be finite.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ration/adapt/jobs.hpp>
#include <ration/allocate.hpp>

namespace ration {

namespace detail {

/// The values that one element of a table's column holds: one, or those of a row.
template <class T>
struct row_values {
    using type = T;
    static constexpr std::uint32_t width = 1;
    [[nodiscard]] static constexpr T at(T const& row, std::size_t) noexcept { return row; }
};
template <class T, std::size_t N>
struct row_values<std::array<T, N>> {
    using type = T;
    static constexpr std::uint32_t width = N;
    [[nodiscard]] static constexpr T const& at(std::array<T, N> const& row, std::size_t k) noexcept { return row[k]; }
};

/// The errors of one member of a table.
template <class S, fixed_string Member, class T>
struct adapted_column {
    using row = typename element_of<T>::type;
    static_assert(
        column_range<T>,
        "ration: a member of an adapted table is a whole column: std::vector, std::span or an array; for a struct "
        "that is one job use ration::adapted");
    static_assert(
        column_of(Member.view()).shape == column_shape::scalar || !std::is_same_v<row, typename row_values<row>::type>,
        "ration: a vector column of a table has as many values in each row: make its elements std::array<T, N>");
    static_assert(Member.view() != "target", "ration: a table has no targets: name its columns `tier` and `tiers`");
    static_assert(!column_range<T> || sizeof(adapted_member<S, Member, row>) > 0);
};

/// Instantiates the checks of all members.
template <class S, class Sequence = std::make_index_sequence<member_count<S>>>
struct each_column;
template <class S, std::size_t... I>
struct each_column<S, std::index_sequence<I...>> {
    static_assert(((sizeof(adapted_column<S, member_name<S, I>(), member_type<S, I>>) > 0) && ...));
    static_assert(member_index<S>("id") < sizeof...(I),
                  "ration: an adapted table needs the member `id`, a unique whole number for each job");
};

/// A row of a table as a Job, for `pairing` only. Its functions have no definitions.
template <class S>
struct table_row {
    using job_concept = job_tag;
    using supplies = typename decltype(supplied_members<S>(std::make_index_sequence<member_count<S>>{}))::type;
    [[nodiscard]] job_id id() const noexcept;
    [[nodiscard]] bounds bounds_of(resource_id) const noexcept;
    [[nodiscard]] job_progress progress() const noexcept;
    [[nodiscard]] no_target target() const noexcept;
};

/// The rows of a table in ascending order of their ids. `sorted` is set to true if they were in
/// this order already. Error: `already_exists` for two equal ids.
template <class Id>
[[nodiscard]] result<buffer<std::size_t>> rows_by_id(std::span<Id const> ids, bool& sorted) noexcept {
    buffer<std::size_t> order(ids.size());
    sorted = true;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        order[i] = i;
        sorted = sorted && (i == 0 || static_cast<std::uint64_t>(ids[i - 1]) < static_cast<std::uint64_t>(ids[i]));
    }
    if (sorted) return order;
    detail::sort(order.data(), order.size(), [&](std::size_t a, std::size_t b) {
        return static_cast<std::uint64_t>(ids[a]) < static_cast<std::uint64_t>(ids[b]);
    });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (ids[order[i - 1]] == ids[order[i]])
            return error{.code = errc::already_exists,
                         .operation = "fill jobs table",
                         .subject = "jobs/id",
                         .remedy = "give every job a unique id"};
    return order;
}

/// The tables of a store in which some columns of jobs are replaced by memory of the scheduler.
class published_tables {
    table_view jobs_;
    buffer<void const*> slots_;
    std::array<table_view const*, table_count> tables_{};

public:
    /// A replaced column.
    struct elsewhere {
        std::uint32_t slot;
        void const* data;
    };

    /// Copies the list of columns, and replaces some.
    published_tables(snapshot const& stored, std::span<elsewhere const> columns) noexcept
        : jobs_(stored[table_id::jobs]) {
        slots_.assign(jobs_.slot, jobs_.slots);
        for (auto const& c : columns) slots_[c.slot] = c.data;
        jobs_.slot = slots_.data();
        for (std::size_t i = 0; i < table_count; ++i) tables_[i] = stored.tables[i];
        tables_[static_cast<std::size_t>(table_id::jobs)] = &jobs_;
    }
    published_tables(published_tables const&) = delete;
    published_tables& operator=(published_tables const&) = delete;

    /// The tables, valid as long as the object.
    [[nodiscard]] snapshot view() const noexcept { return {tables_.data()}; }
};

}  // namespace detail

/// Instantiated by templates that take an adapted table. A wrong adaptation fails with a message
/// that names the fix.
template <class S>
struct require_adapted_table {
    static_assert(sizeof(require_adapted<S>) > 0);
};
template <detail::adapted_struct S>
struct require_adapted_table<S> : detail::each_column<S> {};

/// Refers to a scheduler's table of jobs, which has to stay in place and unchanged while it is
/// used.
template <class S>
class adapted_table {
    static_assert(sizeof(require_adapted_table<S>) > 0);

    S const* own_;
    buffer<detail::published_tables::elsewhere> in_place_;

    static constexpr std::size_t id_index = detail::member_index<S>("id");

public:
    /// A row as a Job, for the checks of the compiler.
    using row = detail::table_row<S>;

    /// Refers to `own`.
    explicit adapted_table(S const& own) noexcept : own_(&own) {}
    /// The number of jobs.
    [[nodiscard]] std::size_t rows() const noexcept { return column<id_index>().size(); }

    /// Copies the columns that cannot be read directly into the jobs table, and records the others
    /// for `in_place`. Errors: `invalid_value` with a column's name for unequal lengths;
    /// `already_exists` for two jobs with one id. O(jobs) if the ids ascend, O(jobs log jobs)
    /// otherwise.
    [[nodiscard]] result<void> fill(snapshot_store& store, standard_columns const& columns) noexcept {
        in_place_.clear();
        if (auto const sized = store.resize(table_id::jobs, rows()); !sized) return sized;
        bool sorted = false;
        auto const order = detail::rows_by_id(column<id_index>(), sorted);
        if (!order) return order.failure();
        for (std::size_t i = 0; i < rows(); ++i) {
            store.at(columns.state, i) = static_cast<std::uint32_t>(job_state::running);
            for (auto const& r : columns.resources) {
                store.at(r.minimum, i) = bounds{}.minimum;
                store.at(r.maximum, i) = bounds{}.maximum;
            }
        }
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            result<void> all;
            static_cast<void>(((all = fill_column<I>(store, *order, sorted), static_cast<bool>(all)) && ...));
            return all;
        }(std::make_index_sequence<detail::member_count<S>>{});
    }
    /// The columns that the last `fill` did not copy.
    [[nodiscard]] std::span<detail::published_tables::elsewhere const> in_place() const noexcept {
        return in_place_.view();
    }

private:
    /// A column of the scheduler.
    template <std::size_t I>
    [[nodiscard]] auto column() const noexcept {
        return std::span<typename detail::element_of<detail::member_type<S, I>>::type const>(
            detail::member_of<I>(*own_));
    }

    /// Copies one column, or records it.
    template <std::size_t I>
    [[nodiscard]] result<void> fill_column(snapshot_store& store, buffer<std::size_t> const& order,
                                           bool sorted) noexcept {
        using supplied = detail::supplied_member<S, I>;
        using value = typename supplied::value_type;
        auto const own = column<I>();
        if (own.size() != order.size())
            return error{.code = errc::invalid_value,
                         .operation = "fill jobs table",
                         .subject = supplied::description.name,
                         .remedy = "give every column of the table as many rows as `id` has"};
        using row = detail::row_values<typename decltype(own)::value_type>;
        auto const target = store.declare<value>(supplied::description.name, row::width);
        if (!target) return target.failure();
        constexpr bool same = std::is_same_v<typename row::type, value>;
        constexpr bool kept = supplied::finite || detail::reported_by_function(detail::member_name<S, I>().view());
        // Accessors may compute their value at each call: only a member of the struct itself stays
        // valid.
        if constexpr (same && !kept && std::is_lvalue_reference_v<decltype(detail::member_of<I>(*own_))>)
            if (sorted) {
                in_place_.push_back({target->slot, own.data()});
                return result<void>{};
            }
        auto* into = store.data(*target);
        for (auto const from : order)
            for (std::size_t k = 0; k < row::width; ++k) *into++ = supplied::value(row::at(own[from], k));
        return {};
    }
};

/// As `allocate` with jobs. The scheduler's table must not change during the call.
template <class P, class S>
[[nodiscard]] result<allocation> allocate(P& policy, adapted_table<S> table, std::span<capacities const> nodes,
                                          allocation_context const& now = {}) noexcept {
    using row = typename adapted_table<S>::row;
    static_assert(sizeof(pairing<P, row>) > 0);
    if constexpr (can_pair<P, row>) {
        detail::allocation_tables tables;
        auto const filled = [&](snapshot_store& store, standard_columns const& columns) {
            return table.fill(store, columns);
        };
        if (auto made = tables.make(nodes, now, filled); !made) return made.failure();
        detail::published_tables const shown(tables.store.view(), table.in_place());
        return detail::ask_policy(policy, tables, shown.view(), now);
    } else {
        return error{};
    }
}

}  // namespace ration
