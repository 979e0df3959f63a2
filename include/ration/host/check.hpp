// SPDX-License-Identifier: BSL-1.0
/// Check: every grant is data to be proved before anything is done with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/detail/good_answer.hpp>
#include <ration/detail/grant_rules.hpp>
#include <ration/detail/job_sums.hpp>
#include <ration/detail/place_set.hpp>
#include <ration/detail/sort.hpp>
#include <ration/grant.hpp>
#include <ration/host/check_rule.hpp>
#include <ration/host/checked_grant.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

namespace ration {

/// A grant that `checker` refused: its row in the answer, and the broken rule.
struct rejection {
    std::uint32_t row = 0;  ///< index of the grant in the policy's answer
    check_rule rule = check_rule::passed;
    friend constexpr bool operator==(rejection, rejection) noexcept = default;
};

/// Validates grants against one snapshot. Only `prepare` allocates; `check` is O(grants + holdings). It checks an
/// answer with groups, or with a row to refuse except for the capacity, row by row. This takes longer: O(grants log
/// grants) when its rows are not in the order of groups.
class checker {
    detail::grant_rules by_;
    detail::good_answer good_;
    buffer<check_rule> rules_;
    detail::place_set places_;
    detail::job_sums sums_;
    capacity_fit fit_;

public:
    /// Arguments that are passed by reference must outlive the checker. `most_grants`: rows of one answer.
    void prepare(snapshot_store const& store, standard_columns const& columns, std::span<resource_info const> resources,
                 std::size_t most_nodes, std::size_t most_grants) {
        by_ = {store, columns, resources};
        good_.prepare(most_nodes, resources.size(), most_grants);
        rules_.reserve(most_grants);
        places_.reserve(most_grants);
        sums_.reserve(most_grants);
        fit_.prepare(most_nodes, resources.size(), most_grants);
    }

    /// Splits `rows` into accepted grants, sorted by group, and rejections in no particular order. The accepted ones
    /// point to their rows. `tenants`: the sums of tenants with limits, as of `held`; nullptr = none has a limit.
    void check(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted,
               buffer<rejection>& rejected, detail::tenant_sums const* tenants = nullptr) noexcept {
        using detail::good_answer;
        rejected.clear();
        auto const reply = good_.accept(by_, held, rows, accepted);
        bool const is_good = reply == good_answer::outcome::good;
        if (is_good && tenants == nullptr) return;
        if (!is_good && reply != good_answer::outcome::over_capacity) classify(held, rows, accepted, rejected);
        fit_.fit(
            held, tenants, accepted, [&](std::uint32_t node, resource_id r) { return by_.capacity(node, r); },
            [&](checked_grant const& g, check_rule broken) { rejected.push_back({index_of(g, rows), broken}); });
    }

private:
    /// All that is not refused for itself, or for another row of its group, by group.
    void classify(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted,
                  buffer<rejection>& rejected) noexcept {
        accepted.clear();
        classify_each(held, rows, accepted);
        detail::sort(accepted.data(), accepted.size(), detail::good_answer::by_group{});
        drop_broken_groups(rows, accepted, rejected);
    }

    /// Checks each row alone, and then the amount of the resource that its job would hold on all nodes together.
    void classify_each(ledger const& held, std::span<grant const> rows, buffer<checked_grant>& accepted) noexcept {
        rules_.clear();
        places_.clear();
        sums_.clear();
        for (auto const& g : rows) {
            rules_.push_back(rule_for(g));
            accepted.push_back(named(held, g));
            if (rules_.back() != check_rule::passed) continue;
            sums_.of(accepted.back(), held).add(accepted.back());
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rules_[i] == check_rule::passed) rules_[i] = by_.rule_for_sum(rows[i], sums_.of(accepted[i], held));
    }

    [[nodiscard]] check_rule rule_for(grant const& g) noexcept {
        if (auto const rule = by_.rule_for(g); rule != check_rule::passed) return rule;
        return places_.insert(detail::grant_rules::place_of(g)) ? check_rule::passed : check_rule::duplicate;
    }

    [[nodiscard]] checked_grant named(ledger const& held, grant const& g) const noexcept {
        job_id const job = by_.knows_job(g) ? by_.id_of(g.job) : job_id{0};
        return {job, by_.knows_job(g) ? held.amount(job, g.node, static_cast<resource_id>(g.resource)) : 0, &g};
    }

    [[nodiscard]] static std::uint32_t index_of(checked_grant const& g, std::span<grant const> rows) noexcept {
        return static_cast<std::uint32_t>(g.asked - rows.data());
    }

    void drop_broken_groups(std::span<grant const> asked, buffer<checked_grant>& rows,
                            buffer<rejection>& rejected) const noexcept {
        auto const rule_of = [&](checked_grant const& g) { return rules_[index_of(g, asked)]; };
        std::size_t kept = 0;
        for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
            last = end_of_group(rows.view(), first);
            bool whole = true;
            for (std::size_t i = first; i < last; ++i) whole &= rule_of(rows[i]) == check_rule::passed;
            for (std::size_t i = first; i < last; ++i) {
                auto const rule = rule_of(rows[i]);
                if (whole)
                    rows[kept++] = rows[i];
                else
                    rejected.push_back(
                        {index_of(rows[i], asked), rule == check_rule::passed ? check_rule::broken_group : rule});
            }
        }
        rows.resize(kept);
    }
};

}  // namespace ration
