// SPDX-License-Identifier: BSL-1.0
/// The column adapter: turns the members of a scheduler's own jobs into columns of a snapshot.
///
/// Used by `allocate` and `allocation_host`. The compiler compares the columns that a policy
/// declares with those that a job type supplies, and reports the missing one by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/detail/sort.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>
#include <ration/policy.hpp>

namespace ration {

/// Declares in a job's `supplies` that the scalar column `Name` is `Member` of the job: a data
/// member, or a const member function without arguments.
///
/// Example:
/// ~~~{.cpp}
/// struct my_job {
///     double cores_used;
///     using supplies = ration::columns<ration::from<double, "jobs/used.cpu", &my_job::cores_used>>;
///     // ... and the members of a Job
/// };
/// ~~~
template <ColumnValue T, fixed_string Name, auto Member>
struct from : detail::declared_column<T, Name, column_shape::scalar> {
    static_assert(Name.view().starts_with("jobs/"),
                  "ration: a job supplies columns of the jobs table: name it jobs/...");

    /// The value for one job, converted to the type of the column.
    template <class J>
    [[nodiscard]] static constexpr T of(J const& job) noexcept {
        if constexpr (requires { (job.*Member)(); })
            return static_cast<T>((job.*Member)());
        else
            return static_cast<T>(job.*Member);
    }
};

/// The same for a vector column. `Member` returns a contiguous range of `T`, such as std::vector or
/// std::array. The column is as wide as the longest range; missing elements of shorter ones are 0.
template <ColumnValue T, fixed_string Name, auto Member>
struct from_rows : detail::declared_column<T, Name, column_shape::vector> {
    static_assert(Name.view().starts_with("jobs/"),
                  "ration: a job supplies columns of the jobs table: name it jobs/...");

    /// The range of one job.
    template <class J>
    [[nodiscard]] static constexpr decltype(auto) of(J const& job) noexcept {
        if constexpr (requires { (job.*Member)(); })
            return (job.*Member)();
        else
            return (job.*Member);
    }
};

namespace detail {

/// The columns that every Job and the host supply. A name that ends in '.' means one column for
/// each standard resource. Jobs that supply no tenant belong to the first one; those that supply no request made while
/// they run have made none, and those that supply no level have none.
inline constexpr std::string_view implied_columns[] = {
    "jobs/id",         "jobs/state",     "jobs/step",     "jobs/loss",       "jobs/tier",       "jobs/tiers",
    "jobs/slo.met",    "jobs/slo.slack", "jobs/min.",     "jobs/max.",       "jobs/requested.", "jobs/held.",
    "nodes/capacity.", "nodes/free.",    "nodes/type",    "held/job",        "held/node",       "held/resource",
    "held/amount",     "jobs/tenant",    "tenants/id",    "tenants/parent",  "tenants/weight",  "tenants/quota.",
    "tenants/limit.",  "tenants/lend.",  "tenants/held.", "tenants/demand.", "tenants/usage.",  "tenants/waiting",
    "tenants/running"};

/// True if the column is one of these.
[[nodiscard]] constexpr bool is_implied(std::string_view name) noexcept {
    for (auto const known : implied_columns) {
        if (name == known) return true;
        if (known.back() != '.' || !name.starts_with(known)) continue;
        for (auto const& r : standard_resources)
            if (name.substr(known.size()) == r.name) return true;
    }
    return false;
}

/// True if jobs of type J supply a column of this name, type and shape. A declaration in `supplies`
/// takes precedence.
template <class J>
[[nodiscard]] constexpr bool is_supplied(column_description const& wanted) noexcept {
    if constexpr (requires { J::supplies::descriptions; })
        for (auto const& own : J::supplies::descriptions)
            if (own.name == wanted.name) return own.type == wanted.type && own.shape == wanted.shape;
    return is_implied(wanted.name);
}

/// True if jobs of type J supply every column of `Inputs`.
template <class J, class Inputs>
[[nodiscard]] constexpr bool supplies_all() noexcept {
    for (auto const& wanted : Inputs::descriptions)
        if (!is_supplied<J>(wanted)) return false;
    return true;
}

/// The error of a column that jobs of type J do not supply. Job and column are template arguments,
/// so the compiler's message contains both names.
template <class J, fixed_string Column, class Declaration>
struct unsupplied_column {
    static_assert(
        is_supplied<J>(Declaration::description),
        "ration: the policy reads a column that these jobs do not supply: add ration::from<type, \"table/column\", "
        "&job::member> to `using supplies = ration::columns<...>` of the job (in an adapted struct name the member), or choose a "
        "policy that does without");
};

/// Instantiates `unsupplied_column` for each declared column.
template <class J, class Inputs>
struct each_supplied;
template <class J, class... Columns>
struct each_supplied<J, columns<Columns...>> {
    static_assert(((sizeof(unsupplied_column<J, Columns::name, Columns>) > 0) && ...));
};

}  // namespace detail

/// True if jobs of type J, in memory and without a backend, can supply every column that P reads.
template <class P, class J>
concept can_pair = Policy<P> && Job<J> && detail::supplies_all<J, typename P::inputs>();

/// Instantiated by templates that take jobs. A class that is not a Job fails with a message that
/// names the missing member.
template <class J>
// One assertion for each part of the concept, as in `require_policy`.
struct require_job {
    static_assert(has_job_tag<J>, "ration: not a Job: add `using job_concept = ration::job_tag;` to the class");
    static_assert(!has_job_tag<J> || has_id<J>, "ration: not a Job: add `ration::job_id id() const noexcept`");
    static_assert(!has_job_tag<J> || has_bounds<J>,
                  "ration: not a Job: add `ration::bounds bounds_of(ration::resource_id) const noexcept`");
    static_assert(!has_job_tag<J> || has_progress<J>,
                  "ration: not a Job: add `ration::job_progress progress() const noexcept`");
    static_assert(!has_job_tag<J> || has_target<J>,
                  "ration: not a Job: add `target() const`, which returns a ration::Target");
};

/// Instantiated where a policy meets the jobs that it is to serve. A column that they cannot supply
/// fails with a message that names it and the fix.
template <class P, class J>
struct pairing {
    static_assert(sizeof(require_policy<P>) > 0 && sizeof(require_job<J>) > 0);
    static_assert(sizeof(detail::each_supplied<J, typename P::inputs>) > 0);
};

namespace detail {

/// Writes the standard columns of one row.
template <Job J>
void write_row(snapshot_store& store, standard_columns const& columns, std::size_t row, J const& job) noexcept {
    auto const now = job.progress();
    auto const& target = job.target();
    store.at(columns.id, row) = job.id().value;
    store.at(columns.state, row) = static_cast<std::uint32_t>(job_state::running);
    store.at(columns.step, row) = now.step;
    // A policy must not see NaN or an infinite loss; the tier is computed from the original value.
    store.at(columns.loss, row) = is_finite(now.value) ? now.value : 0;
    store.at(columns.tier, row) = target.reached(now.value);
    store.at(columns.tiers, row) = target.tiers();
    for (std::size_t r = 0; r < columns.resources.size(); ++r) {
        auto const accepted = job.bounds_of(static_cast<resource_id>(r));
        store.at(columns.resources[r].minimum, row) = accepted.minimum;
        store.at(columns.resources[r].maximum, row) = accepted.maximum;
    }
}

/// Writes a vector column. The width is that of the longest vector, or of the column as it was
/// declared before.
template <class Declaration, class J>
[[nodiscard]] result<void> write_vectors(snapshot_store& store, std::span<J const> jobs,
                                         std::span<std::size_t const> order) noexcept {
    using value = typename Declaration::value_type;
    auto const* const known = find_column(store.schema(), Declaration::description.name);
    std::size_t width = known == nullptr ? 1 : known->width;
    for (auto const& job : jobs) {
        std::size_t const size = std::span<value const>(Declaration::of(job)).size();
        if (size > width) width = size;
    }
    auto const column = store.declare<value>(Declaration::description.name, static_cast<std::uint32_t>(width));
    if (!column) return column.failure();
    for (std::size_t row = 0; row < order.size(); ++row) {
        auto const& own = Declaration::of(jobs[order[row]]);
        std::span<value const> const values(own);
        value* const place = store.data(*column) + row * width;
        for (std::size_t k = 0; k < width; ++k) place[k] = k < values.size() ? values[k] : value{};
    }
    return {};
}

/// Writes a scalar column.
template <class Declaration, class J>
[[nodiscard]] result<void> write_scalars(snapshot_store& store, std::span<J const> jobs,
                                         std::span<std::size_t const> order) noexcept {
    auto const column = store.declare<typename Declaration::value_type>(Declaration::name.view());
    if (!column) return column.failure();
    for (std::size_t row = 0; row < order.size(); ++row) store.at(*column, row) = Declaration::of(jobs[order[row]]);
    return {};
}

/// Writes the column in the shape that its declaration has.
template <class Declaration, class J>
[[nodiscard]] result<void> write_column(snapshot_store& store, std::span<J const> jobs,
                                        std::span<std::size_t const> order) noexcept {
    if constexpr (Declaration::description.shape == column_shape::vector)
        return write_vectors<Declaration>(store, jobs, order);
    else
        return write_scalars<Declaration>(store, jobs, order);
}

/// Writes all columns of `J::supplies`; stops at the first error.
template <class J, class... Declarations>
[[nodiscard]] result<void> write_supplies(snapshot_store& store, [[maybe_unused]] std::span<J const> jobs,
                                          [[maybe_unused]] std::span<std::size_t const> order,
                                          columns<Declarations...> const*) noexcept {
    result<void> all;
    static_cast<void>(((all = write_column<Declarations>(store, jobs, order), static_cast<bool>(all)) && ...));
    return all;
}

}  // namespace detail

/// Makes the jobs table out of a scheduler's own jobs, in any order. The rows are sorted by id, as
/// policies expect.
///
/// Written are the standard columns, then those of `J::supplies`. All jobs count as running unless
/// `supplies` has `jobs/state`. A job that has no value of its metric yet reports NaN, and reaches
/// no tier.
///
/// Errors: `already_exists` (two jobs with one id); `no_capacity`; those of
/// `snapshot_store::declare`, with `conflict` also for a vector that is longer than the column that
/// the store already has. O(jobs log jobs).
/// store first had its column. O(jobs log jobs).
template <Job J>
[[nodiscard]] result<void> fill(snapshot_store& store, standard_columns const& columns,
                                std::span<J const> jobs) noexcept {
    if (auto const sized = store.resize(table_id::jobs, jobs.size()); !sized) return sized;
    // Jobs are sorted by index: they may be large, and belong to the caller.
    buffer<std::size_t> order(jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    detail::sort(order.data(), order.size(), [&](std::size_t a, std::size_t b) { return jobs[a].id() < jobs[b].id(); });
    for (std::size_t row = 0; row < order.size(); ++row) {
        if (row > 0 && jobs[order[row - 1]].id() == jobs[order[row]].id())
            return error{.code = errc::already_exists,
                         .operation = "fill jobs table",
                         .subject = "jobs/id",
                         .remedy = "give every job a unique id"};
        detail::write_row(store, columns, row, jobs[order[row]]);
    }
    if constexpr (requires { typename J::supplies; })
        return detail::write_supplies(store, jobs, order, static_cast<typename J::supplies const*>(nullptr));
    else
        return {};
}

}  // namespace ration
