// SPDX-License-Identifier: BSL-1.0
/// Columns: the snapshot's data by name. A policy declares the ones it reads; names, types and widths are checked by
/// the compiler against the catalogue of standard columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ration {

/// Text as a template argument.
template <std::size_t N>
struct fixed_string {
    char characters[N]{};
    constexpr fixed_string(char const (&literal)[N]) noexcept {
        for (std::size_t i = 0; i < N; ++i) characters[i] = literal[i];
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters, N - 1}; }
};

/// The tables of a snapshot. The numbers are those of the plugin ABI.
enum class table_id : std::uint32_t { jobs = 0, nodes = 1, held = 2, tenants = 3 };
inline constexpr std::size_t table_count = 4;

/// Characters in the name of a column, table included.
inline constexpr std::size_t longest_column_name = 47;

enum class column_type : std::uint32_t { u32 = 1, i64 = 2, u64 = 3, f32 = 4, f64 = 5 };

template <class T>
concept ColumnValue = std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
                      std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <ColumnValue T>
inline constexpr column_type type_of = std::is_same_v<T, std::uint32_t>   ? column_type::u32
                                       : std::is_same_v<T, std::int64_t>  ? column_type::i64
                                       : std::is_same_v<T, std::uint64_t> ? column_type::u64
                                       : std::is_same_v<T, float>         ? column_type::f32
                                                                          : column_type::f64;

[[nodiscard]] constexpr std::size_t size_of(column_type type) noexcept {
    return type == column_type::u32 || type == column_type::f32 ? 4 : 8;
}

/// One value per row, or a vector of fixed width per row (row-major).
enum class column_shape : std::uint8_t { scalar, vector };

/// The hosts that offer a standard column: each host, or those that declare it with `standard_columns::add`.
enum class column_offer : std::uint8_t { by_every_host, by_some_hosts };

/// One row of the catalogue of standard columns.
struct column_description {
    std::string_view name;
    column_type type;
    column_shape shape = column_shape::scalar;
    column_offer offer = column_offer::by_every_host;
};

/// The standard columns: the only place that declares them. Handles, stores, checks and plugins take names, types and
/// shapes from here. A name that ends in '.' denotes one column per resource: "jobs/used." is "jobs/used.cpu" ...
/// A host that writes nothing into a column leaves 0 there.
inline constexpr column_description catalogue[] = {
    {"jobs/id", column_type::u64},
    {"jobs/tenant", column_type::u32},     // row of the table tenants
    {"jobs/weight", column_type::f64},     // among the jobs of its tenant
    {"jobs/priority", column_type::i64},   // a greater one is more urgent
    {"jobs/submitted", column_type::i64},  // ns on the tick's clock
    // until which the job should be done; ns on the tick's clock; -1 = none
    {"jobs/deadline", column_type::i64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/started", column_type::i64},  // ns on the tick's clock; -1 = not yet
    {"jobs/state", column_type::u32},    // job_state
    {"jobs/step", column_type::u64},
    {"jobs/loss", column_type::f64},  // finite, smoothed as in the target
    {"jobs/loss.best", column_type::f64},
    // the loss at which the job reaches its next tier; NaN = it has no such tier
    {"jobs/loss.target", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/loss.window", column_type::f64, column_shape::vector, column_offer::by_some_hosts},
    {"jobs/tier", column_type::u32},   // tiers reached
    {"jobs/tiers", column_type::u32},  // tiers there are
    // part of the last window in which the level of the job's target held, and the distance of the window's mean from
    // the level, relative to it: negative = worse, NaN = no value. Both 0: no level
    {"jobs/slo.met", column_type::f64},
    {"jobs/slo.slack", column_type::f64},
    {"jobs/used.", column_type::f64},  // measured use, in the resource's unit
    // part of the time during which the CPU limit held the job back; 0 if unknown
    {"jobs/throttled.cpu", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    // jobs of one class have the same phases; numbered from 0
    {"jobs/class", column_type::u32, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/phase", column_type::u32, column_shape::scalar, column_offer::by_some_hosts},  // all ones = unknown
    // use to be expected soon, in the resource's unit; NaN = unknown
    {"jobs/expected.cpu", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/expected.memory", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/held.", column_type::i64},  // last applied grant
    {"jobs/min.", column_type::i64},   // over all nodes together
    {"jobs/max.", column_type::i64},
    {"jobs/request.", column_type::i64, column_shape::scalar, column_offer::by_some_hosts},  // what its user asked for
    {"jobs/requested.", column_type::i64},  // what the job asks for while it runs; 0 = nothing
    // device-seconds held so far
    {"jobs/attained", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/speedup", column_type::f64, column_shape::vector, column_offer::by_some_hosts},  // index = devices
    // best batch at that many devices
    {"jobs/batch", column_type::i64, column_shape::vector, column_offer::by_some_hosts},
    // [node type][devices]: useful steps/s at the best batch, and at the batch that was asked for
    {"jobs/goodput", column_type::f64, column_shape::vector, column_offer::by_some_hosts},
    {"jobs/goodput.fixed", column_type::f64, column_shape::vector, column_offer::by_some_hosts},
    {"jobs/measured_steps_per_second", column_type::f64},  // steps per second now, measured
    // steps per second on the devices that were asked for
    {"jobs/nominal_steps_per_second", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    // predicted steps of the whole job; NaN = unknown
    {"jobs/total_steps", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/remaining", column_type::f64},  // predicted steps to the next tier, or to the end; NaN = unknown
    {"jobs/restarts", column_type::u32, column_shape::scalar, column_offer::by_some_hosts},
    {"jobs/restart_cost", column_type::f64},  // seconds
    // seconds of a checkpoint, during which the job makes no steps
    {"jobs/save_cost", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    // which kind of devices; numbered from 0
    {"nodes/type", column_type::u32, column_shape::scalar, column_offer::by_some_hosts},
    // losses per second to be expected of a node that has been up for as long as this one
    {"nodes/hazard", column_type::f64, column_shape::scalar, column_offer::by_some_hosts},
    {"nodes/capacity.", column_type::i64},
    {"nodes/free.", column_type::i64},
    {"held/job", column_type::u64},  // id, not row
    {"held/node", column_type::u32},
    {"held/resource", column_type::u32},
    {"held/amount", column_type::i64},
    {"tenants/id", column_type::u64},
    {"tenants/parent", column_type::u32},   // a smaller row; no_tenant = none
    {"tenants/weight", column_type::f64},   // among the tenants of one parent; above 0
    {"tenants/quota.", column_type::i64},   // what it can always have back
    {"tenants/limit.", column_type::i64},   // what it never exceeds, with all below it
    {"tenants/lend.", column_type::i64},    // part of its quota that others may have
    {"tenants/held.", column_type::i64},    // by its jobs and those of tenants below it; unlimited adds 0
    {"tenants/demand.", column_type::i64},  // requested by active ones of these jobs; unlimited if one has no bound
    {"tenants/usage.", column_type::f64},   // amount-seconds of `held`, which halve in the host's half-life
    {"tenants/waiting", column_type::u32},  // active jobs without what they request, those below it included
    {"tenants/running", column_type::u32},  // active jobs that run
};

inline constexpr std::size_t catalogue_size = sizeof(catalogue) / sizeof(catalogue[0]);

/// Whether a name of the catalogue denotes one column per resource.
[[nodiscard]] constexpr bool is_family(std::string_view name) noexcept { return name.back() == '.'; }

/// The place of the standard column of this name; `catalogue_size` for a host's own.
[[nodiscard]] constexpr std::size_t index_in_catalogue(std::string_view name) noexcept {
    std::size_t i = 0;
    for (; i < catalogue_size; ++i) {
        std::string_view const known = catalogue[i].name;
        if (is_family(known) ? name.starts_with(known) && name.size() > known.size() : name == known) break;
    }
    return i;
}

/// The table a column name belongs to; `table_count` as a number for a name that begins with none.
[[nodiscard]] constexpr std::size_t table_index_of(std::string_view name) noexcept {
    constexpr std::string_view prefixes[table_count] = {"jobs/", "nodes/", "held/", "tenants/"};
    for (std::size_t i = 0; i < table_count; ++i)
        if (name.starts_with(prefixes[i]) && name.size() > prefixes[i].size()) return i;
    return table_count;
}

namespace detail {

template <column_type>
struct value_of_type;
template <>
struct value_of_type<column_type::u32> {
    using type = std::uint32_t;
};
template <>
struct value_of_type<column_type::i64> {
    using type = std::int64_t;
};
template <>
struct value_of_type<column_type::u64> {
    using type = std::uint64_t;
};
template <>
struct value_of_type<column_type::f32> {
    using type = float;
};
template <>
struct value_of_type<column_type::f64> {
    using type = double;
};

template <ColumnValue T, fixed_string Name, column_shape Shape>
struct declared_column {
    using value_type = T;
    static constexpr auto name = Name;
    static constexpr column_description description{Name.view(), type_of<T>, Shape};

    static_assert(table_index_of(Name.view()) < table_count,
                  "ration: a column is named table/column, where table is jobs, nodes, held or tenants");
    static_assert(Name.view().size() <= longest_column_name, "ration: the name of a column has at most 47 characters");
    // By index: g++ 12 with -fsanitize=undefined takes no comparison with a null pointer for constant.
    static constexpr std::size_t place = index_in_catalogue(Name.view());
    static_assert(place == catalogue_size || catalogue[place].type == type_of<T>,
                  "ration: this standard column has another type: see ration::catalogue in ration/column.hpp");
    static_assert(place == catalogue_size || catalogue[place].shape == Shape,
                  "ration: declare a vector column with in_rows or out_rows, and a scalar one with in or out");
};

}  // namespace detail

/// Declares that a policy reads the scalar column `Name` of type `T`.
template <ColumnValue T, fixed_string Name>
struct in : detail::declared_column<T, Name, column_shape::scalar> {};

/// Declares that a policy reads the vector column `Name`: a fixed number of `T` for each row.
template <ColumnValue T, fixed_string Name>
struct in_rows : detail::declared_column<T, Name, column_shape::vector> {};

/// The inputs of a policy: a list of `in` and `in_rows`.
template <class... Columns>
struct columns {
    static constexpr std::size_t count = sizeof...(Columns);
    static constexpr std::array<column_description, count> descriptions{Columns::description...};

    /// The place of `name` in the list; `count` when it is not declared.
    [[nodiscard]] static constexpr std::size_t index_of(std::string_view name) noexcept {
        std::size_t i = 0;
        while (i < count && descriptions[i].name != name) ++i;
        return i;
    }

private:
    [[nodiscard]] static constexpr bool all_distinct() noexcept {
        for (std::size_t i = 0; i < count; ++i)
            if (index_of(descriptions[i].name) != i) return false;
        return true;
    }
    static_assert(all_distinct(), "ration: a column is declared twice in columns<...>");
};

}  // namespace ration
