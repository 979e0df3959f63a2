// SPDX-License-Identifier: BSL-1.0
#include "answer_checker.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/core.h>

namespace ration::conformance {
namespace {

/// The sentence on a bad row. No sum overflows: an answer has at most `most_grants` rows.
class explanation {
    testing::synthetic_cluster const& cluster_;
    std::span<ration_grant const> answer_;
    ration_grant const& row_;

public:
    explanation(testing::synthetic_cluster const& cluster, std::span<ration_grant const> answer, std::size_t row)
        : cluster_(cluster), answer_(answer), row_(answer[row]) {}

    [[nodiscard]] std::string of(check_rule rule) const {
        switch (rule) {
            case check_rule::unknown_job:
                return fmt::format("job {}, and the jobs table has {} rows", row_.job, cluster_.jobs().size());
            case check_rule::unknown_node:
                return fmt::format("node {}, and the nodes table has {} rows", row_.node, cluster_.nodes());
            case check_rule::unknown_resource:
                return fmt::format("resource {}, and the host has {}", row_.resource, resource_count);
            case check_rule::negative_amount: return fmt::format("the amount {} is negative", row_.amount);
            case check_rule::amount_too_large:
                return fmt::format("the amount {} is above RATION_MAX_AMOUNT: sums of it overflow", row_.amount);
            case check_rule::unlimited_atomic:
                return fmt::format("RATION_UNLIMITED of {}, which comes in whole units", resource());
            case check_rule::job_not_active:
                return fmt::format("job {} is done or failed and is given {}", row_.job, row_.amount);
            case check_rule::below_minimum:
                return of_sum("neither 0 nor as much as it accepts", job().minimum[row_.resource]);
            case check_rule::above_maximum: return of_sum("more than it accepts", job().maximum[row_.resource]);
            case check_rule::divided:
                return fmt::format(
                    "the grants of {} to job {} are in different groups: only together they keep to what it accepts",
                    resource(), row_.job);
            case check_rule::duplicate:
                return fmt::format("it grants job {}, node {}, resource {} a second time in one tick", row_.job,
                                   row_.node, row_.resource);
            case check_rule::over_capacity:
                return fmt::format("node {} has {} of {} and would promise {}", row_.node,
                                   cluster_.capacity(row_.node, id()), resource(),
                                   cluster_.held().sum(row_.node, id()) +
                                       growth(&ledger::promised, [&](auto const& g) { return g.node == row_.node; }));
            default: return std::string(name_of(rule));
        }
    }

private:
    [[nodiscard]] testing::synthetic_job const& job() const { return cluster_.jobs()[row_.job]; }
    [[nodiscard]] resource_id id() const noexcept { return static_cast<resource_id>(row_.resource); }
    [[nodiscard]] std::string_view resource() const { return testing::synthetic_resources[row_.resource].name; }
    [[nodiscard]] std::string of_sum(std::string_view what, std::int64_t bound) const {
        auto const counted = [](std::int64_t amount, resource_id) { return ledger::counted(amount); };
        std::int64_t sum = growth(counted, [&](auto const& g) { return g.job == row_.job; });
        for (auto const& h : cluster_.held().of({job().id}))
            if (h.what.resource == id()) sum += ledger::counted(h.what.amount);
        return fmt::format("with it job {} holds {} of {} on all nodes together: {}, {}", row_.job, sum, resource(),
                           what, bound);
    }

    /// The amounts that the rows of this resource with a true `counts` add to what is held at their places, each amount
    /// as `part` counts it.
    template <class Part, class Counts>
    [[nodiscard]] std::int64_t growth(Part const& part, Counts const& counts) const {
        std::int64_t sum = 0;
        for (auto const& g : answer_) {
            bool const is_known = g.job < cluster_.jobs().size() && g.node < cluster_.nodes() && g.amount >= 0;
            if (!is_known || g.resource != row_.resource || !counts(g)) continue;
            auto const before = cluster_.held().amount({cluster_.jobs()[g.job].id}, g.node, id());
            sum += part(g.amount <= RATION_MAX_AMOUNT ? g.amount : 0, id()) - part(before, id());
        }
        return sum;
    }
};

}  // namespace

classify::classify(subject const& s)
    : reasons_(s.reasons), reads_state_(s.reads("jobs/state")),
      columns_(standard_columns::declare(store_, testing::synthetic_resources).value()) {
    for (std::size_t r = 0; r < resource_count; ++r) {
        std::string const name(testing::synthetic_resources[r].name);
        reads_minimum_[r] = s.reads("jobs/min." + name);
        reads_maximum_[r] = s.reads("jobs/max." + name);
    }
    check_.prepare(store_, columns_, testing::synthetic_resources, most_nodes, most_grants);
}

std::string classify::fault(testing::synthetic_cluster const& cluster, std::span<ration_grant const> grants) {
    show(cluster);
    check_.check(held_, {reinterpret_cast<grant const*>(grants.data()), grants.size()}, accepted_, rejected_);
    rejection const* first = nullptr;
    for (auto const& r : rejected_)
        if (r.rule != check_rule::broken_group && (first == nullptr || r.row < first->row)) first = &r;
    if (first != nullptr)
        return fmt::format("row {}: {}", first->row, explanation(cluster, grants, first->row).of(first->rule));
    for (std::size_t row = 0; row < grants.size(); ++row)
        if (auto const reason = grants[row].reason; reason != 0 && reason >= reasons_)
            return fmt::format("row {}: reason {}, and the manifest lists {}", row, reason, reasons_);
    return {};
}

void classify::show(testing::synthetic_cluster const& cluster) {
    static_cast<void>(store_.resize(table_id::nodes, cluster.nodes()));
    static_cast<void>(store_.resize(table_id::jobs, cluster.jobs().size()));
    for (std::size_t r = 0; r < resource_count; ++r)
        for (std::size_t node = 0; node < cluster.nodes(); ++node)
            store_.at(columns_.resources[r].capacity, node) = cluster.capacity(node, static_cast<resource_id>(r));
    for (std::size_t row = 0; row < cluster.jobs().size(); ++row) show(cluster.jobs()[row], row);
    held_ = cluster.held();
}

void classify::show(testing::synthetic_job const& job, std::size_t row) {
    store_.at(columns_.id, row) = job.id;
    store_.at(columns_.state, row) =
        reads_state_ ? static_cast<std::uint32_t>(job.state) : std::uint32_t{RATION_RUNNING};
    for (std::size_t r = 0; r < resource_count; ++r) {
        auto const& c = columns_.resources[r];
        store_.at(c.minimum, row) = reads_minimum_[r] ? job.minimum[r] : 0;
        store_.at(c.maximum, row) = reads_maximum_[r] ? job.maximum[r] : RATION_UNLIMITED;
    }
}

}  // namespace ration::conformance
