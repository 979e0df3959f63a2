// SPDX-License-Identifier: BSL-1.0
/// `allocate` for a policy that is chosen at run time, as one from a plugin is: bound once, called
/// many times.
///
/// Used by schedulers that embed ration and load policies by name. The template in allocate.hpp
/// binds at every call; this class keeps the tables and the binding.
#pragma once

#include <cstddef>
#include <span>

#include <ration/allocate.hpp>
#include <ration/host/any_policy.hpp>

namespace ration {

/// Calls one `any_policy` repeatedly about a scheduler's own jobs. Nothing is applied.
///
/// The policy is bound again only if there are more jobs or nodes than before, or other columns.
/// For a worker process a binding means a start, so room for twice the number of jobs is requested.
/// The policy receives no events; a policy that learns from the outcome of its grants needs the
/// engine.
class allocation_host {
    any_policy* policy_;
    detail::allocation_tables tables_;
    limits bound_;
    std::size_t columns_ = 0;

public:
    /// `policy` has to outlive this object.
    explicit allocation_host(any_policy& policy) noexcept : policy_(&policy) {}

    /// As `ration::allocate`. Errors: the same; those of `any_policy::bind`; `not_found` with the
    /// name of a column that the policy reads and these jobs do not supply.
    template <class Jobs>
    [[nodiscard]] result<allocation> allocate(Jobs const& jobs, std::span<capacities const> nodes,
                                              allocation_context const& now = {}) noexcept {
        std::span const rows(jobs);
        using J = typename decltype(rows)::value_type;
        static_assert(sizeof(require_job<J>) > 0);
        if constexpr (Job<J>) {
            auto const filled = [&](snapshot_store& store, standard_columns const& columns) {
                return fill(store, columns, std::span<J const>(rows));
            };
            if (auto made = tables_.make(nodes, now, filled); !made) return made.failure();
            if (auto const ready = bind<J>(now.tenants.size()); !ready) return ready.failure();
            return detail::answer_of(
                tables_, tables_.store.view(), now, policy_->about().id, detail::longest_answer(tables_),
                [this](tick_data const& data, grants& answer) { return policy_->decide(data, answer); });
        } else {
            return error{};
        }
    }

private:
    template <class J>
    [[nodiscard]] result<void> bind(std::size_t tenants) noexcept {
        std::size_t const jobs = tables_.store.rows(table_id::jobs), nodes = tables_.store.rows(table_id::nodes);
        // Still covered by the last binding.
        if (jobs <= bound_.jobs && nodes <= bound_.nodes && tenants <= bound_.tenants &&
            columns_ == tables_.store.schema().size())
            return {};
        for (auto const& c : tables_.store.schema())
            if (c.table == table_id::jobs && policy_->reads(c.name.view()) &&
                !detail::is_supplied<J>({c.name.view(), c.type}))
                return error{
                    .code = errc::not_found,
                    .operation = "bind column",
                    .subject = c.name.view(),
                    .remedy = "the policy reads it: supply it with the jobs, or choose a policy that does without"};
        // A number that was exceeded once is likely to be exceeded again, and each binding may
        // start a process.
        limits most = bound_;
        if (jobs > most.jobs) most.jobs = 2 * jobs;
        if (nodes > most.nodes) most.nodes = nodes;
        if (tenants > most.tenants) most.tenants = tenants;
        if (auto const done = policy_->bind(tables_.store.schema(), most); !done) return done;
        bound_ = most;
        columns_ = tables_.store.schema().size();
        return {};
    }
};

}  // namespace ration
