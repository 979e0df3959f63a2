// SPDX-License-Identifier: BSL-1.0
/// Policies: snapshot in, grants out.
///
/// For authors of policies: the concept `Policy`, its optional parts, and `tick`, through which
/// `decide` reads columns. For hosts: `bind_columns`, which finds the declared columns once, before
/// the first tick.
///
/// Example:
/// ~~~{.cpp}
/// struct give_one {
///     using policy_concept = ration::policy_tag;
///     static constexpr ration::meta about{.id = "org.example.give-one", .version = "1.0.0"};
///     using inputs = ration::columns<ration::in<std::int64_t, "jobs/held.gpu">>;
///     ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
///         for (std::size_t job = 0; job < t.jobs(); ++job)
///             if (t.get<"jobs/held.gpu">()[job] == 0 && !out.set(job, 0, ration::resource_id::gpu, 1))
///                 return ration::status::capacity;
///         return ration::status::ok;
///     }
/// };
/// ~~~
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/changes.hpp>
#include <ration/column.hpp>
#include <ration/event.hpp>
#include <ration/grant.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/snapshot.hpp>
#include <ration/units.hpp>

namespace ration {

/// The identity of a policy. It is copied into the plugin manifest, so it has to be a constant.
/// `reasons[k]` is the text for reason code k of a grant.
struct meta {
    std::string_view id;       ///< reverse domain name: "org.example.give-one"
    std::string_view version;  ///< semantic version
    /// One line for listings.
    std::string_view summary{};
    /// Texts of the reason codes.
    std::span<std::string_view const> reasons{};
    std::string_view vendor{};   ///< the organisation that publishes the policy
    std::string_view license{};  ///< SPDX expression

    /// The text for a reason code; empty for an unknown code.
    [[nodiscard]] constexpr std::string_view reason(std::uint16_t code) const noexcept {
        return code < reasons.size() ? reasons[code] : std::string_view{};
    }
};

/// The values that a host passes to every policy at every tick. They contain the only clock and the
/// only seed that a policy may use.
struct tick_data {
    /// Counts the ticks from the start of the run. A tick that is asked again keeps its number.
    std::uint64_t number = 0;
    /// Seed for random decisions; depends on the run and the tick.
    std::uint64_t seed = 0;
    /// Time on the host's clock; virtual in the simulator.
    nanoseconds now{};
    /// The time that `decide` should take at most.
    nanoseconds budget{};
    /// The tables of this tick.
    snapshot data{};
    /// The rows that have changed since this policy was last asked, one pointer for each `table_id`; nullptr: any row
    /// of any table may have changed.
    table_changes const* const* changes = nullptr;
};

/// The largest numbers of rows until the next call of `prepare`. A policy allocates for these.
struct limits {
    /// Rows of the jobs table.
    std::size_t jobs = 0;
    /// Rows of the nodes table.
    std::size_t nodes = 0;
    /// Rows of the resources table.
    std::size_t resources = std::size(standard_resources);
    /// Grants of one answer; 0 means the product of the three numbers above.
    std::size_t answer = 0;
    /// Rows of the tenants table.
    std::size_t tenants = 0;
    /// The `resources`, by number, of which names count; nullptr: the first standard ones. Valid until the call that
    /// receives it returns.
    resource_info const* resource_table = nullptr;

    /// The largest number of grants of one answer.
    [[nodiscard]] constexpr std::size_t grants() const noexcept {
        return answer != 0 ? answer : jobs * nodes * resources;
    }
};

namespace detail {

/// The error of a column that the policy reads and did not declare. The name is a template
/// argument, so the compiler's message contains it.
template <fixed_string Column, class Inputs>
struct undeclared_column {
    static_assert(
        Inputs::index_of(Column.view()) < Inputs::count,
        "ration: the policy reads a column that it did not declare: add ration::in<type, \"table/column\"> to its inputs");
};

/// True for `columns<...>`.
template <class T>
inline constexpr bool is_columns = false;
template <class... Columns>
inline constexpr bool is_columns<columns<Columns...>> = true;

/// The declaration with this index in a list of columns.
template <class Inputs, std::size_t Index>
struct column_at;
template <class... Columns, std::size_t Index>
struct column_at<columns<Columns...>, Index> {
    // The type list is walked by overload resolution on indexed bases, which is the cheapest way to compile.
    template <std::size_t I, class C>
    struct indexed {
        using type = C;
    };
    template <class Sequence>
    struct list;
    template <std::size_t... I>
    struct list<std::index_sequence<I...>> : indexed<I, Columns>... {};
    template <class C>
    static indexed<Index, C> pick(indexed<Index, C> const&);
    using type = typename decltype(pick(list<std::make_index_sequence<sizeof...(Columns)>>{}))::type;
};

}  // namespace detail

/// A vector column: `rows[i]` is the vector of row i. A view; valid as long as the snapshot is.
template <ColumnValue T>
class vector_column {
    T const* data_ = nullptr;
    std::size_t rows_ = 0, width_ = 0;

public:
    /// An empty column.
    vector_column() noexcept = default;
    /// A view of `rows` vectors of `width` elements each, one after the other.
    vector_column(T const* data, std::size_t rows, std::size_t width) noexcept
        : data_(data), rows_(rows), width_(width) {}
    /// The number of rows.
    [[nodiscard]] std::size_t size() const noexcept { return rows_; }
    /// The number of elements of each row.
    [[nodiscard]] std::size_t width() const noexcept { return width_; }
    /// The vector of a row; O(1), without a check of `row`.
    [[nodiscard]] std::span<T const> operator[](std::size_t row) const noexcept {
        return {data_ + row * width_, width_};
    }
};

/// The places of one policy's declared columns in one host's snapshot. Made by `bind_columns`;
/// valid until the host declares other columns.
template <class Inputs>
// column[i] belongs to Inputs::descriptions[i].
struct binding {
    std::array<column_info, Inputs::count> column{};
};

/// Finds one column that a policy declared. A scalar declaration requires a width of 1. Errors:
/// `not_found`; `conflict` for another type or shape. The subject is the name of the column.
[[nodiscard]] inline result<column_info> bind_column(std::span<column_info const> schema,
                                                     column_description const& wanted) noexcept {
    auto const* const found = find_column(schema, wanted.name);
    if (found == nullptr)
        return error{
            .code = errc::not_found,
            .operation = "bind column",
            .subject = wanted.name,
            .remedy = "this host does not offer the column: choose a policy that does without, or a host that has it"};
    if (found->type != wanted.type || (wanted.shape == column_shape::scalar && found->width != 1))
        return error{.code = errc::conflict,
                     .operation = "bind column",
                     .subject = wanted.name,
                     .remedy = "host and policy disagree on the column's type: rebuild the older of the two"};
    return *found;
}

/// Finds each declared column in the schema. O(declared columns * offered columns). Errors: those
/// of `bind_column`.
template <class Inputs>
[[nodiscard]] result<binding<Inputs>> bind_columns(std::span<column_info const> schema) noexcept {
    binding<Inputs> bound;
    for (std::size_t i = 0; i < Inputs::count; ++i) {
        auto const found = bind_column(schema, Inputs::descriptions[i]);
        if (!found) return found.failure();
        bound.column[i] = *found;
    }
    return bound;
}

/// One tick, as a policy with these inputs sees it. A view of the host's data; valid until `decide`
/// returns.
template <class Inputs>
class tick {
    tick_data const* data_;
    binding<Inputs> const* bound_;

public:
    /// Both arguments have to outlive the object.
    tick(tick_data const& data, binding<Inputs> const& bound) noexcept : data_(&data), bound_(&bound) {}

    /// The number of the tick, from `tick_data`.
    [[nodiscard]] std::uint64_t number() const noexcept { return data_->number; }
    /// The seed of the tick, for random decisions.
    [[nodiscard]] std::uint64_t seed() const noexcept { return data_->seed; }
    /// The time of the tick on the host's clock.
    [[nodiscard]] nanoseconds now() const noexcept { return data_->now; }
    /// The time that `decide` should take at most.
    [[nodiscard]] nanoseconds budget() const noexcept { return data_->budget; }
    /// Rows of the jobs table.
    [[nodiscard]] std::size_t jobs() const noexcept { return data_->data[table_id::jobs].rows; }
    /// Rows of the nodes table.
    [[nodiscard]] std::size_t nodes() const noexcept { return data_->data[table_id::nodes].rows; }
    /// Rows of the tenants table. Precondition: the policy reads one of its columns.
    [[nodiscard]] std::size_t tenants() const noexcept { return data_->data[table_id::tenants].rows; }

    /// The rows of a table that have changed since this policy was last asked.
    [[nodiscard]] table_changes const& changes(table_id t) const noexcept {
        return data_->changes == nullptr ? everything_changed : *data_->changes[static_cast<std::size_t>(t)];
    }

    /// Returns a declared column: `std::span<T const>` for `in<T, Name>`, `vector_column<T>` for
    /// `in_rows<T, Name>`. O(1). A name that was not declared is a compile error.
    template <fixed_string Name>
    [[nodiscard]] auto get() const noexcept {
        constexpr std::size_t index = Inputs::index_of(Name.view());
        static_cast<void>(detail::undeclared_column<Name, Inputs>{});
        if constexpr (index < Inputs::count) {
            using value = typename detail::column_at<Inputs, index>::type::value_type;
            column_info const& column = bound_->column[index];
            table_view const& table = data_->data[column.table];
            auto const* const first = static_cast<value const*>(table.slot[column.slot]);
            if constexpr (Inputs::descriptions[index].shape == column_shape::scalar)
                return std::span<value const>(first, table.rows);
            else
                return vector_column<value>(first, table.rows, column.width);
        }
    }
};

/// Base of the tag by which a type declares that it is a policy: `using policy_concept =
/// ration::policy_tag;`.
struct policy_tag {};

/// The type has declared the tag.
template <class P>
concept has_policy_tag = requires { requires std::derived_from<typename P::policy_concept, policy_tag>; };
/// `P::about`: a static constant of type `meta`.
template <class P>
concept has_about = requires {
    { &P::about } -> std::same_as<meta const*>;
    typename std::bool_constant<P::about.id.empty()>;
};
/// `P::inputs`: the columns that the policy reads, as `columns<in<...>, ...>`.
template <class P>
concept has_inputs = detail::is_columns<typename P::inputs>;
/// `p.decide(tick, grants)`: noexcept, returns `status`. A status other than `ok` rejects the
/// answer.
template <class P>
concept has_noexcept_decide = requires(P& p, tick<typename P::inputs> const& t, grants& out) {
    { p.decide(t, out) } noexcept -> std::same_as<status>;
};
/// Optional: `p.prepare(limits)` allocates everything that `decide` needs. `status::unsupported`: the host lacks a
/// resource that the policy needs.
template <class P>
concept has_prepare = requires(P& p, limits const& most) {
    { p.prepare(most) } noexcept -> std::same_as<status>;
};

/// Optional: `p.on_events(events)` receives each event once, before `decide` of the next tick.
/// `decide` can be called again for the same tick without new events.
template <class P>
concept has_events = requires(P& p, std::span<event const> events) {
    { p.on_events(events) } noexcept -> std::same_as<void>;
};
/// Optional: saved state, for hot swap and for replay. `p.save(space)` writes the state if it fits,
/// and returns its size in bytes. `p.load(saved)` restores it, or returns `status::state` and
/// changes nothing.
template <class P>
concept has_state = requires(P& p, P const& same, std::span<std::byte> space, std::span<std::byte const> saved) {
    { same.save(space) } noexcept -> std::same_as<std::size_t>;
    { p.load(saved) } noexcept -> std::same_as<status>;
};
/// Optional: `P::parameters`, an aggregate with defaults and `problem()`, from which `P` is
/// constructed. `problem()` returns an empty text, or the reason why the values cannot be used.
template <class P>
concept has_parameters =
    std::is_constructible_v<P, typename P::parameters const&> && requires(typename P::parameters const& given) {
        { given.problem() } -> std::convertible_to<std::string_view>;
    };

/// Optional: `P::follows_changes` is true. The policy keeps state for each job, and goes by `tick::changes`. A host may
/// then leave the progress columns of a row as they were at its last listed change.
template <class P>
concept has_followed_changes = requires { requires P::follows_changes; };

/// A rule that allocates resources to jobs.
/// Valid expressions: `P::about`, `typename P::inputs`, `p.decide(tick, grants)`.
/// Laws: (1) the same ticks since the start give the same grants; (2) every grant passes `check`, in each valid
/// `snapshot` (snapshot.hpp), whatever has changed since the last one; (3) no I/O, no clock,
/// no rng but the tick's; (4) `decide` allocates nothing after `prepare`; (5) a tick that is asked again is answered
/// the same, and so are those after it; (6) what is saved is all that a policy remembers; (7) a job that runs on an
/// ample node is not paused on a scarce one (a grant of `least_cpu` always fits); (8) the list of changes makes no
/// difference to an answer. Cost: as documented by the policy; it
/// has to fit `tick.budget()`. Smallest model: `ration::testing::policy_archetype`.
template <class P>
concept Policy = has_policy_tag<P> && has_about<P> && has_inputs<P> && has_noexcept_decide<P>;

/// Instantiated by templates that take a policy. A class that does not model the concept fails with
/// a message that names the missing part.
template <class P>
// One assertion for each part. An assertion is silent if an earlier part is missing, so that one
// fault gives one message.
struct require_policy {
    static_assert(has_policy_tag<P>,
                  "ration: not a Policy: add `using policy_concept = ration::policy_tag;` to the class");
    static_assert(
        !has_policy_tag<P> || has_about<P>,
        "ration: not a Policy: add `static constexpr ration::meta about{.id = \"...\", .version = \"...\"};`");
    static_assert(!has_policy_tag<P> || has_inputs<P>,
                  "ration: not a Policy: add `using inputs = ration::columns<ration::in<type, \"table/column\">...>;`");
    static_assert(
        !has_inputs<P> || has_noexcept_decide<P>,
        "ration: not a Policy: decide must be `ration::status decide(ration::tick<inputs> const&, ration::grants&) "
        "noexcept`");
    static_assert(
        has_prepare<P> || !requires(P& p, limits const& most) { p.prepare(most); },
        "ration: prepare would never be called: it must be `ration::status prepare(ration::limits const&) noexcept`");
    static_assert(
        has_events<P> || !requires(P& p) { p.on_events(std::span<event const>{}); },
        "ration: on_events would never be called: it must be `void on_events(std::span<ration::event const>) noexcept`");
    static_assert(
        has_state<P> || !requires(P& p) { p.load(std::span<std::byte const>{}); },
        "ration: the state would never be saved: it takes both `std::size_t save(std::span<std::byte>) const noexcept` and "
        "`ration::status load(std::span<std::byte const>) noexcept`");
};

}  // namespace ration
