// SPDX-License-Identifier: BSL-1.0
/// A scheduler's own structs as jobs, without a change of the structs. Name the members once,
/// outside of the struct, and call a policy:
///     BOOST_HANA_ADAPT_STRUCT(queue::entry, id, loss, used_cpu, max_cpu);
///     auto const answer = ration::allocate(policy, ration::adapted(entries), machine);
///
/// A member has the name of its column in the jobs table, with `_` for each `.`: `used_cpu` is
/// `jobs/used.cpu`. Where names, units or types differ, or data are behind functions, write
/// accessors:
///     BOOST_HANA_ADAPT_ADT(queue::entry, (id, [](auto const& e) { return e.number(); }),
///                          (used_cpu, [](auto const& e) { return 1000 * e.cores(); }));
#pragma once

#include <array>
#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_adt.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/at.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/column_adapter.hpp>
#include <ration/job.hpp>
#include <ration/target.hpp>
#include <ration/text.hpp>

namespace ration {

/// The target of a job whose user has set none: it has no tiers.
struct no_target {
    /// Declares the class as a target.
    using target_concept = target_tag;
    /// The metric of jobs without a target; no tier depends on it.
    [[nodiscard]] static std::string_view metric() noexcept { return "loss"; }
    /// There are no tiers.
    [[nodiscard]] static std::uint32_t tiers() noexcept { return 0; }
    /// No value reaches a tier.
    [[nodiscard]] static std::uint32_t reached(double) noexcept { return 0; }
};

namespace detail {

/// The column that a member of this name supplies; none if the name is unknown.
struct member_column {
    text<longest_column_name> name;
    column_type type = column_type::f64;
    column_shape shape = column_shape::scalar;
    [[nodiscard]] constexpr bool known() const noexcept { return !name.view().empty(); }
};

/// True if a member is spelt like family and resource of a column, with `_` for each dot.
[[nodiscard]] constexpr bool spells(std::string_view member, std::string_view family,
                                    std::string_view resource) noexcept {
    if (member.size() != family.size() + resource.size()) return false;
    for (std::size_t i = 0; i < member.size(); ++i) {
        char const c = i < family.size() ? family[i] : resource[i - family.size()];
        if (member[i] != (c == '.' ? '_' : c)) return false;
    }
    return true;
}

/// The column of a member. `jobs/held.*` is excluded: holdings are passed as
/// `allocation_context::held`, node by node.
[[nodiscard]] constexpr member_column column_of(std::string_view member) noexcept {
    constexpr std::size_t prefix = std::string_view("jobs/").size();
    for (auto const& column : catalogue) {
        if (!column.name.starts_with("jobs/") || column.name == "jobs/held.") continue;
        auto const rest = column.name.substr(prefix);
        if (rest.back() != '.') {
            if (spells(member, rest, "")) return {text<longest_column_name>(column.name), column.type, column.shape};
            continue;
        }
        for (auto const& r : standard_resources)
            if (spells(member, rest, r.name))
                return {text<longest_column_name>(column.name).append(r.name), column.type, column.shape};
    }
    return {};
}

/// True for a struct that is adapted for Hana.
template <class S>
concept adapted_struct = boost::hana::Struct<S>::value;

/// The accessors of a struct, as Hana lists them.
template <class S>
using accessors_of = decltype(boost::hana::accessors<S>());

/// The number of members.
template <class S>
inline constexpr std::size_t member_count = decltype(boost::hana::length(std::declval<accessors_of<S>>()))::value;

/// One accessor.
template <class S, std::size_t I>
using member_accessor = std::remove_cvref_t<decltype(boost::hana::at_c<I>(std::declval<accessors_of<S>>()))>;

/// The name of a member as a template argument, so that a compiler's message shows it.
template <class S, std::size_t I>
[[nodiscard]] constexpr auto member_name() noexcept {
    using name = std::remove_cvref_t<decltype(boost::hana::first(std::declval<member_accessor<S, I>>()))>;
    constexpr std::size_t size = decltype(boost::hana::length(std::declval<name>()))::value;
    char characters[size + 1]{};
    for (std::size_t i = 0; i < size; ++i) characters[i] = name::c_str()[i];
    return fixed_string<size + 1>(characters);
}

/// The value of a member, or a reference to it.
template <std::size_t I, class S>
[[nodiscard]] constexpr decltype(auto) member_of(S const& from) noexcept {
    return boost::hana::second(boost::hana::at_c<I>(boost::hana::accessors<S>()))(from);
}

/// The type of a member.
template <class S, std::size_t I>
using member_type = std::remove_cvref_t<decltype(member_of<I>(std::declval<S const&>()))>;

/// The index of the member that is spelt like this; `member_count<S>` if there is none.
template <class S>
[[nodiscard]] constexpr std::size_t member_index(std::string_view wanted, std::string_view resource = {}) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::size_t found = member_count<S>;
        auto const finds = [&found](std::size_t index, bool spelt) noexcept {
            if (spelt) found = index;
            return spelt;
        };
        static_cast<void>((finds(I, spells(member_name<S, I>().view(), wanted, resource)) || ...));
        return found;
    }(std::make_index_sequence<member_count<S>>{});
}

/// A contiguous range, which is the value of a vector column.
template <class T>
concept column_range = requires(T const& column) { std::span(column); };

/// The elements of such a range; void for other types.
template <class T>
struct element_of {
    using type = void;
};
template <column_range T>
struct element_of<T> {
    using type = typename decltype(std::span(std::declval<T const&>()))::value_type;
};

/// True if T is exactly the type of the column's elements.
template <class T>
[[nodiscard]] constexpr bool is_value(column_type type) noexcept {
    if constexpr (ColumnValue<T>)
        return type == type_of<T>;
    else
        return false;
}

/// True if a member of type T can supply the column. A scalar is converted; a vector is read in
/// place, so its elements need the column's type.
template <class T>
[[nodiscard]] constexpr bool fits(member_column const& column) noexcept {
    if constexpr (column_range<T>)
        return column.shape == column_shape::vector && is_value<typename element_of<T>::type>(column.type);
    else if constexpr (std::is_same_v<T, bool> || !(std::is_arithmetic_v<T> || std::is_same_v<T, job_state>))
        return false;
    else
        return column.shape == column_shape::scalar &&
               (column.type == column_type::f64 ? std::is_arithmetic_v<T> : !std::is_floating_point_v<T>);
}

/// The errors of one member. Struct, name and type are template arguments, so the compiler's
/// message shows them. `T` is the type of the member.
template <class S, fixed_string Member, class T>
struct adapted_member {
    static constexpr bool target = Member.view() == "target";
    static constexpr member_column column = column_of(Member.view());
    static_assert(
        target || column.known(),
        "ration: no column of jobs is called like this member: spell it as in ration::catalogue with _ for each dot, or rename it "
        "with BOOST_HANA_ADAPT_ADT(type, (column, accessor), ...)");
    static_assert(
        target || !column.known() || fits<T>(column),
        "ration: this member has another type than its column: f64 takes any number, the others a whole number, and a vector "
        "column a range of exactly its type; convert it with BOOST_HANA_ADAPT_ADT(type, (column, accessor), ...)");
    static_assert(
        !target || Target<T>,
        "ration: the member `target` must be a ration::Target, as ration::two_tier_target is; without the member a job has none");
};

/// Instantiates the checks of all members.
template <class S, class Sequence = std::make_index_sequence<member_count<S>>>
struct each_member;
template <class S, std::size_t... I>
struct each_member<S, std::index_sequence<I...>> {
    static_assert(((sizeof(adapted_member<S, member_name<S, I>(), member_type<S, I>>) > 0) && ...));
    static_assert(
        member_index<S>("id") < sizeof...(I),
        "ration: an adapted job needs the member `id`, a unique whole number for each job: name it, or give it an accessor "
        "with BOOST_HANA_ADAPT_ADT(type, (id, accessor), ...)");
};

/// The declaration of a column that a member supplies; the counterpart of `from` in
/// column_adapter.hpp.
template <class S, std::size_t I>
struct supplied_member {
    static constexpr member_column column = column_of(member_name<S, I>().view());
    static constexpr column_description description{column.name.view(), column.type, column.shape};
    using value_type = std::conditional_t<
        column.type == column_type::f64, double,
        std::conditional_t<column.type == column_type::i64, std::int64_t,
                           std::conditional_t<column.type == column_type::u64, std::uint64_t, std::uint32_t>>>;
    struct named {
        [[nodiscard]] static constexpr std::string_view view() noexcept { return column.name.view(); }
    };
    static constexpr named name{};
    /// A column of losses is finite: NaN becomes 0 there. In other columns NaN means "unknown".
    static constexpr bool finite = description.name.starts_with("jobs/loss");
    [[nodiscard]] static constexpr value_type value(auto own) noexcept {
        auto const as_column = static_cast<value_type>(own);
        if constexpr (finite && std::is_same_v<value_type, double>)
            return is_finite(as_column) ? as_column : 0;
        else
            return as_column;
    }
    [[nodiscard]] static constexpr decltype(auto) of(auto const& job) noexcept {
        if constexpr (column.shape == column_shape::vector)
            return member_of<I>(job.own());
        else
            return value(member_of<I>(job.own()));
    }
};

/// True for members that a Job reports by functions; they are not columns of `supplies`.
[[nodiscard]] constexpr bool reported_by_function(std::string_view member) noexcept {
    return member == "id" || member == "target" || member.starts_with("min_") || member.starts_with("max_");
}

/// The list of columns that the members of S supply.
template <class S, std::size_t... I>
[[nodiscard]] constexpr auto supplied_members(std::index_sequence<I...>) noexcept {
    constexpr std::size_t count =
        (std::size_t{0} + ... + std::size_t{!reported_by_function(member_name<S, I>().view())});
    constexpr auto places = [] {
        std::array<std::size_t, count> all{};
        std::size_t at = 0;
        static_cast<void>(((reported_by_function(member_name<S, I>().view()) || (all[at++] = I, true)) && ...));
        return all;
    }();
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return std::type_identity<columns<supplied_member<S, places[K]>...>>{};
    }(std::make_index_sequence<count>{});
}

/// The value of member `Index`; `otherwise` without such a member.
template <std::size_t Index, class S, class T>
[[nodiscard]] constexpr T member_or(S const& from, T otherwise) noexcept {
    if constexpr (Index < member_count<S>)
        return static_cast<T>(member_of<Index>(from));
    else
        return otherwise;
}

/// The bounds of standard resource `R` in the struct; no bounds if it has none.
template <std::size_t R, class S>
[[nodiscard]] constexpr bounds bounds_in(S const& own) noexcept {
    constexpr std::string_view resource = standard_resources[R].name;
    return {member_or<member_index<S>("min.", resource)>(own, bounds{}.minimum),
            member_or<member_index<S>("max.", resource)>(own, bounds{}.maximum)};
}

}  // namespace detail

/// Instantiated by templates that take an adapted struct. A wrong adaptation fails with a message
/// that names the fix.
template <class S>
struct require_adapted {
    static_assert(
        detail::adapted_struct<S>,
        "ration: this struct is not adapted: write BOOST_HANA_ADAPT_STRUCT(type, id, member, ...); in the global namespace, with "
        "members called like columns of jobs");
};
template <detail::adapted_struct S>
struct require_adapted<S> : detail::each_member<S> {};

/// A struct of a scheduler as a ration::Job. It refers to the struct, which has to stay in place
/// while it is used. Values that a struct does not have: no bounds, no step, no value of the
/// metric, no target.
template <class S>
class adapted_job {
    static_assert(sizeof(require_adapted<S>) > 0);

    S const* own_;

public:
    /// Declares the class as a job.
    using job_concept = job_tag;
    /// The columns that the members supply.
    using supplies =
        typename decltype(detail::supplied_members<S>(std::make_index_sequence<detail::member_count<S>>{}))::type;

    /// Refers to `own`.
    explicit adapted_job(S const& own) noexcept : own_(&own) {}
    /// The scheduler's struct.
    [[nodiscard]] S const& own() const noexcept { return *own_; }

    /// The member `id`.
    [[nodiscard]] job_id id() const noexcept {
        return {detail::member_or<detail::member_index<S>("id")>(*own_, std::uint64_t{})};
    }
    /// The members `min_*` and `max_*` of the resource.
    [[nodiscard]] bounds bounds_of(resource_id r) const noexcept {
        return [&]<std::size_t... R>(std::index_sequence<R...>) {
            bounds accepted;
            static_cast<void>(
                ((static_cast<std::size_t>(r) == R && (accepted = detail::bounds_in<R>(*own_), true)) || ...));
            return accepted;
        }(std::make_index_sequence<std::size(standard_resources)>{});
    }
    /// The members `step` and `loss`.
    [[nodiscard]] job_progress progress() const noexcept {
        return {.step = detail::member_or<detail::member_index<S>("step")>(*own_, std::uint64_t{}),
                .value = detail::member_or<detail::member_index<S>("loss")>(*own_,
                                                                            std::numeric_limits<double>::quiet_NaN())};
    }
    /// The member `target`; `no_target` if there is none.
    [[nodiscard]] decltype(auto) target() const noexcept {
        constexpr std::size_t index = detail::member_index<S>("target");
        if constexpr (index < detail::member_count<S>)
            return detail::member_of<index>(*own_);
        else
            return no_target{};
    }
};

/// Jobs for `allocate`, `fill` and `allocation_host`, from any range of adapted structs or of
/// pointers to them. One pointer is kept for each. The structs are read once, column by column,
/// when a policy is called. O(jobs).
template <class Range>
[[nodiscard]] auto adapted(Range const& jobs) noexcept {
    using element = std::remove_cvref_t<decltype(*std::begin(jobs))>;
    constexpr bool direct = detail::adapted_struct<element> || !requires(element const& e) { *e; };
    auto const own = [](auto const& job) -> auto const& {
        if constexpr (direct)
            return job;
        else
            return *job;
    };
    using S = std::remove_cvref_t<decltype(own(*std::begin(jobs)))>;
    static_assert(sizeof(require_adapted<S>) > 0);
    if constexpr (detail::adapted_struct<S>) {
        buffer<adapted_job<S>> all;
        for (auto const& job : jobs) all.push_back(adapted_job<S>(own(job)));
        return all;
    }
}

}  // namespace ration
