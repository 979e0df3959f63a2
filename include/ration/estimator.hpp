// SPDX-License-Identifier: BSL-1.0
/// Estimators: columns that a host cannot measure, computed from columns that it can.
///
/// For authors of estimators: the concept `Estimator`, and `estimates`, through which `estimate` writes its columns.
/// Hosts pass estimators to the stage of an engine (host/estimator_stage.hpp).
///
/// Example:
/// ~~~{.cpp}
/// struct steps_left {
///     using estimator_concept = ration::estimator_tag;
///     static constexpr ration::meta about{.id = "org.example.steps-left", .version = "1.0.0"};
///     using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">, ration::in<double, "jobs/total_steps">>;
///     using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
///     void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& out) noexcept {
///         for (std::size_t job = 0; job < t.jobs(); ++job)
///             out.get<"jobs/remaining">()[job] =
///                 t.get<"jobs/total_steps">()[job] - static_cast<double>(t.get<"jobs/step">()[job]);
///     }
/// };
/// ~~~
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include <ration/column.hpp>
#include <ration/policy.hpp>
#include <ration/result.hpp>

namespace ration {

/// Declares that an estimator computes the scalar column `Name` of type `T`.
template <ColumnValue T, fixed_string Name>
struct out : detail::declared_column<T, Name, column_shape::scalar> {
    static_assert(Name.view().starts_with("jobs/"), "ration: an estimator computes columns of the jobs table");
};

/// Declares that an estimator computes the vector column `Name`, of as many `T` in each row as the host declares.
template <ColumnValue T, fixed_string Name>
struct out_rows : detail::declared_column<T, Name, column_shape::vector> {
    static_assert(Name.view().starts_with("jobs/"), "ration: an estimator computes columns of the jobs table");
};

namespace detail {

/// The error of a column that the estimator writes and did not declare.
template <fixed_string Column, class Outputs>
struct undeclared_output {
    static_assert(
        Outputs::index_of(Column.view()) < Outputs::count,
        "ration: the estimator writes a column that it did not declare: add ration::out<type, \"jobs/column\"> to its outputs");
};

template <class T>
inline constexpr bool is_out = false;
template <ColumnValue T, fixed_string Name>
inline constexpr bool is_out<out<T, Name>> = true;
template <ColumnValue T, fixed_string Name>
inline constexpr bool is_out<out_rows<T, Name>> = true;

/// True for `columns<out<...>, out_rows<...>, ...>` of one column or more.
template <class T>
inline constexpr bool is_outputs = false;
template <class... Columns>
inline constexpr bool is_outputs<columns<Columns...>> = sizeof...(Columns) > 0 && (is_out<Columns> && ...);

}  // namespace detail

/// The memory of a column that an estimator computes.
struct output_column {
    void* first = nullptr;  ///< the first value of the first row
    std::size_t width = 1;  ///< values of each row
};

/// A vector column to be written: `rows[i]` is the vector of row i. A view; valid until `estimate` returns.
template <ColumnValue T>
class output_rows {
    T* first_;
    std::size_t width_;

public:
    output_rows(T* first, std::size_t width) noexcept : first_(first), width_(width) {}
    /// The number of elements of each row.
    [[nodiscard]] std::size_t width() const noexcept { return width_; }
    /// The vector of a row; O(1), without a check of `row`.
    [[nodiscard]] std::span<T> operator[](std::size_t row) const noexcept { return {first_ + row * width_, width_}; }
};

/// The columns that an estimator computes, in the tables of one tick. A view; valid until `estimate` returns.
template <class Outputs>
class estimates {
    std::array<output_column, Outputs::count> columns_;
    std::size_t rows_;

public:
    /// `columns[i]` is that of `Outputs::descriptions[i]`; `rows`: of the jobs table.
    estimates(std::array<output_column, Outputs::count> const& columns, std::size_t rows) noexcept
        : columns_(columns), rows_(rows) {}

    /// Returns a declared column, to be written: a span, or `output_rows` of a vector column. O(1). A name that was not
    /// declared is a compile error.
    template <fixed_string Name>
    [[nodiscard]] auto get() const noexcept {
        constexpr std::size_t index = Outputs::index_of(Name.view());
        static_cast<void>(detail::undeclared_output<Name, Outputs>{});
        if constexpr (index < Outputs::count) {
            using value = typename detail::column_at<Outputs, index>::type::value_type;
            auto* const first = static_cast<value*>(columns_[index].first);
            if constexpr (Outputs::descriptions[index].shape == column_shape::vector)
                return output_rows<value>(first, columns_[index].width);
            else
                return std::span<value>(first, rows_);
        }
    }
};

/// Base of the tag by which a type declares that it is an estimator: `using estimator_concept =
/// ration::estimator_tag;`.
struct estimator_tag {};

/// The type has declared the tag.
template <class E>
concept has_estimator_tag = requires { requires std::derived_from<typename E::estimator_concept, estimator_tag>; };
/// `E::outputs`: the columns that the estimator computes, as `columns<out<...>, out_rows<...>, ...>`.
template <class E>
concept has_outputs = detail::is_outputs<typename E::outputs>;
/// `e.estimate(tick, estimates)`: noexcept, returns nothing. An unknown value is NaN.
template <class E>
concept has_noexcept_estimate =
    requires(E& e, tick<typename E::inputs> const& t, estimates<typename E::outputs> const& out) {
        { e.estimate(t, out) } noexcept -> std::same_as<void>;
    };

/// Computes columns of the jobs table from others.
/// Valid expressions: `E::about`, `typename E::inputs`, `typename E::outputs`, `e.estimate(tick, estimates)`; optional
/// `prepare`, `save` and `load` as for Policy.
/// Laws: (1) the same ticks since the start give the same estimates, in each row of each output; (2) no I/O, no clock,
/// no rng but the tick's; (3) `estimate` allocates nothing after `prepare`; (4) a tick that is asked again is answered
/// the same, and so are those after it; (5) what is saved is all that an estimator remembers; (6) the estimates stay
/// while the inputs stay, as time passes.
/// Cost: as documented by the estimator; all of them have to fit `tick.budget()`, together with the policy. Smallest
/// model: `ration::testing::estimator_archetype`.
template <class E>
concept Estimator = has_estimator_tag<E> && has_about<E> && has_inputs<E> && has_outputs<E> && has_noexcept_estimate<E>;

/// Instantiated by templates that take an estimator. A class that does not model the concept fails with a message that
/// names the missing part.
template <class E>
// An assertion is silent if an earlier part is missing, as in `require_policy`.
struct require_estimator {
    static_assert(has_estimator_tag<E>,
                  "ration: not an Estimator: add `using estimator_concept = ration::estimator_tag;` to the class");
    static_assert(
        !has_estimator_tag<E> || has_about<E>,
        "ration: not an Estimator: add `static constexpr ration::meta about{.id = \"...\", .version = \"...\"};`");
    static_assert(
        !has_estimator_tag<E> || has_inputs<E>,
        "ration: not an Estimator: add `using inputs = ration::columns<ration::in<type, \"table/column\">...>;`");
    static_assert(
        !has_estimator_tag<E> || has_outputs<E>,
        "ration: not an Estimator: add `using outputs = ration::columns<ration::out<type, \"jobs/column\">...>;`");
    static_assert(!has_inputs<E> || !has_outputs<E> || has_noexcept_estimate<E>,
                  "ration: not an Estimator: estimate must be `void estimate(ration::tick<inputs> const&, "
                  "ration::estimates<outputs> const&) noexcept`");
    static_assert(
        has_prepare<E> || !requires(E& e, limits const& most) { e.prepare(most); },
        "ration: prepare would never be called: it must be `ration::status prepare(ration::limits const&) noexcept`");
    static_assert(
        has_state<E> || !requires(E& e) { e.load(std::span<std::byte const>{}); },
        "ration: the state would never be saved: it takes both `std::size_t save(std::span<std::byte>) const noexcept` and "
        "`ration::status load(std::span<std::byte const>) noexcept`");
};

}  // namespace ration
