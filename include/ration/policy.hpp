// SPDX-License-Identifier: BSL-1.0
/// Policies: snapshot in, grants out.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/column.hpp>
#include <ration/event.hpp>
#include <ration/grant.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/snapshot.hpp>
#include <ration/units.hpp>

namespace ration {

/// Who a policy is. `reasons[k]` says in words what reason code k of a grant means.
struct meta {
    std::string_view id;       ///< reverse domain name: "org.example.give-one"
    std::string_view version;  ///< semantic version
    std::string_view summary{};
    std::span<std::string_view const> reasons{};
    std::string_view vendor{};   ///< who vouches for it
    std::string_view license{};  ///< SPDX expression

    [[nodiscard]] constexpr std::string_view reason(std::uint16_t code) const noexcept {
        return code < reasons.size() ? reasons[code] : std::string_view{};
    }
};

/// What a host passes to every policy at every tick. The only clock and the only rng a policy may use.
struct tick_data {
    std::uint64_t number = 0;
    std::uint64_t seed = 0;
    nanoseconds now{};
    nanoseconds budget{};
    snapshot data{};
};

/// The most rows a policy will ever see between two calls of `prepare`.
struct limits {
    std::size_t jobs = 0;
    std::size_t nodes = 0;
    std::size_t resources = std::size(standard_resources);
    /// Grants of one answer; 0: as many as there may be, each resource on each node for each job
    std::size_t answer = 0;

    [[nodiscard]] constexpr std::size_t grants() const noexcept {
        return answer != 0 ? answer : jobs * nodes * resources;
    }
};

namespace detail {

/// The error of a column that the policy reads and did not declare: the compiler's message shows the name.
template <fixed_string Column, class Inputs>
struct undeclared_column {
    static_assert(
        Inputs::index_of(Column.view()) < Inputs::count,
        "ration: the policy reads a column that it did not declare: add ration::in<type, \"table/column\"> to its inputs");
};

template <class T>
inline constexpr bool is_columns = false;
template <class... Columns>
inline constexpr bool is_columns<columns<Columns...>> = true;

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

/// A vector column: `rows[i]` is the vector of row i.
template <ColumnValue T>
class vector_column {
    T const* data_ = nullptr;
    std::size_t rows_ = 0, width_ = 0;

public:
    vector_column() noexcept = default;
    vector_column(T const* data, std::size_t rows, std::size_t width) noexcept
        : data_(data), rows_(rows), width_(width) {}
    [[nodiscard]] std::size_t size() const noexcept { return rows_; }
    [[nodiscard]] std::size_t width() const noexcept { return width_; }
    [[nodiscard]] std::span<T const> operator[](std::size_t row) const noexcept {
        return {data_ + row * width_, width_};
    }
};

/// Where the declared columns of one policy are in one host's snapshot.
template <class Inputs>
struct binding {
    std::array<column_info, Inputs::count> column{};
};

/// A column as a policy wants it. Errors: `not_found` and `conflict` (other type or shape), with its name.
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

/// Finds each declared column in the schema. Errors: those of `bind_column`.
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

/// One tick as a policy with these inputs sees it.
template <class Inputs>
class tick {
    tick_data const* data_;
    binding<Inputs> const* bound_;

public:
    tick(tick_data const& data, binding<Inputs> const& bound) noexcept : data_(&data), bound_(&bound) {}

    [[nodiscard]] std::uint64_t number() const noexcept { return data_->number; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return data_->seed; }
    [[nodiscard]] nanoseconds now() const noexcept { return data_->now; }
    [[nodiscard]] nanoseconds budget() const noexcept { return data_->budget; }
    [[nodiscard]] std::size_t jobs() const noexcept { return data_->data[table_id::jobs].rows; }
    [[nodiscard]] std::size_t nodes() const noexcept { return data_->data[table_id::nodes].rows; }

    /// The column: `std::span<T const>` for `in<T, Name>`, `vector_column<T>` for `in_rows<T, Name>`. O(1).
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

struct policy_tag {};

template <class P>
concept has_policy_tag = requires { requires std::derived_from<typename P::policy_concept, policy_tag>; };
/// `P::about`: a static constant `meta`.
template <class P>
concept has_about = requires {
    { &P::about } -> std::same_as<meta const*>;
    typename std::bool_constant<P::about.id.empty()>;
};
/// `P::inputs`: `columns<in<...>, ...>`.
template <class P>
concept has_inputs = detail::is_columns<typename P::inputs>;
/// `p.decide(tick, grants)`: returns `status`, noexcept.
template <class P>
concept has_noexcept_decide = requires(P& p, tick<typename P::inputs> const& t, grants& out) {
    { p.decide(t, out) } noexcept -> std::same_as<status>;
};
/// Optional: `p.prepare(limits)` allocates all that `decide` will need.
template <class P>
concept has_prepare = requires(P& p, limits const& most) {
    { p.prepare(most) } noexcept -> std::same_as<status>;
};

/// Optional: `p.on_events(events)` hears of each event once, while `decide` may be asked again about the same tick.
template <class P>
concept has_events = requires(P& p, std::span<event const> events) {
    { p.on_events(events) } noexcept -> std::same_as<void>;
};
/// Optional: `p.save(space)` writes what it remembers if it fits, and returns the bytes that it takes; `p.load(saved)`
/// becomes what was saved, or says `status::state` and stays as it was.
template <class P>
concept has_state = requires(P& p, P const& same, std::span<std::byte> space, std::span<std::byte const> saved) {
    { same.save(space) } noexcept -> std::same_as<std::size_t>;
    { p.load(saved) } noexcept -> std::same_as<status>;
};
/// Optional: `P::parameters`, an aggregate with defaults and `problem()`, from which `P` is made.
template <class P>
concept has_parameters =
    std::is_constructible_v<P, typename P::parameters const&> && requires(typename P::parameters const& given) {
        { given.problem() } -> std::convertible_to<std::string_view>;
    };

/// A rule that shares resources among jobs.
/// Valid expressions: `P::about`, `typename P::inputs`, `p.decide(tick, grants)`.
/// Laws: (1) the same ticks since the start give the same grants; (2) every grant passes `check`; (3) no I/O, no clock,
/// no rng but the tick's; (4) `decide` allocates nothing after `prepare`; (5) a tick that is asked again is answered
/// the same, and so are those after it; (6) what is saved is all that a policy remembers; (7) a job that runs on an
/// ample node is not paused on a scarce one (a grant of `least_cpu` always fits). Cost: as documented by the policy; it
/// has to fit `tick.budget()`. Smallest model: `ration::testing::policy_archetype`.
template <class P>
concept Policy = has_policy_tag<P> && has_about<P> && has_inputs<P> && has_noexcept_decide<P>;

/// Instantiated by what takes a policy: a class that is not one fails with a sentence that says what to add.
template <class P>
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
