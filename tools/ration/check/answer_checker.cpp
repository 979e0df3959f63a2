// SPDX-License-Identifier: BSL-1.0
#include "answer_checker.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/core.h>

namespace ration::conformance {
namespace {

/// What is said of a bad row. No sum overflows: an answer has at most `most_grants` rows.
class explanation {
    world const& world_;
    std::span<ration_grant const> answer_;
    ration_grant const& row_;

public:
    explanation(world const& w, std::span<ration_grant const> answer, std::size_t row)
        : world_(w), answer_(answer), row_(answer[row]) {}

    [[nodiscard]] std::string of(check_rule rule) const {
        switch (rule) {
            case check_rule::unknown_job:
                return fmt::format("job {}, and the jobs table has {} rows", row_.job, world_.jobs().size());
            case check_rule::unknown_node:
                return fmt::format("node {}, and the nodes table has {} rows", row_.node, world_.nodes());
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
                return fmt::format("node {} has {} of {} and would promise {}", row_.node, node_capacity[row_.resource],
                                   resource(), world_.promised(row_.node, row_.resource) + growth([&](auto const& g) {
                                                   return g.node == row_.node;
                                               }));
            default: return std::string(name_of(rule));
        }
    }

private:
    [[nodiscard]] synthetic_job const& job() const { return world_.jobs()[row_.job]; }
    [[nodiscard]] std::string_view resource() const { return standard_resources[row_.resource].name; }
    [[nodiscard]] std::string of_sum(std::string_view what, std::int64_t bound) const {
        std::int64_t sum = growth([&](auto const& g) { return g.job == row_.job; });
        for (auto const& node : job().held) sum += ledger::counted(node[row_.resource]);
        return fmt::format("with it job {} holds {} of {} on all nodes together: {}, {}", row_.job, sum, resource(),
                           what, bound);
    }

    /// What the rows of this resource that `counts` add to what is held at their places.
    template <class Counts>
    [[nodiscard]] std::int64_t growth(Counts const& counts) const {
        std::int64_t sum = 0;
        for (auto const& g : answer_) {
            bool const is_known = g.job < world_.jobs().size() && g.node < world_.nodes() && g.amount >= 0;
            if (!is_known || g.resource != row_.resource || !counts(g)) continue;
            auto const before = world_.jobs()[g.job].held[g.node][g.resource];
            sum += (g.amount <= RATION_MAX_AMOUNT ? g.amount : 0) - ledger::counted(before);
        }
        return sum;
    }
};

}  // namespace

classify::classify(subject const& s)
    : reasons_(s.reasons), reads_state_(s.reads("jobs/state")),
      columns_(standard_columns::declare(store_, standard_resources).value()) {
    for (std::size_t r = 0; r < resource_count; ++r) {
        std::string const name(standard_resources[r].name);
        reads_minimum_[r] = s.reads("jobs/min." + name);
        reads_maximum_[r] = s.reads("jobs/max." + name);
    }
    check_.prepare(store_, columns_, standard_resources, most_nodes, most_grants);
}

std::string classify::fault(world const& w, std::span<ration_grant const> grants) {
    show(w);
    check_.check(held_, {reinterpret_cast<grant const*>(grants.data()), grants.size()}, accepted_, rejected_);
    rejection const* first = nullptr;
    for (auto const& r : rejected_)
        if (r.rule != check_rule::broken_group && (first == nullptr || r.row < first->row)) first = &r;
    if (first != nullptr)
        return fmt::format("row {}: {}", first->row, explanation(w, grants, first->row).of(first->rule));
    for (std::size_t row = 0; row < grants.size(); ++row)
        if (auto const reason = grants[row].reason; reason != 0 && reason >= reasons_)
            return fmt::format("row {}: reason {}, and the manifest lists {}", row, reason, reasons_);
    return {};
}

void classify::show(world const& w) {
    static_cast<void>(store_.resize(table_id::nodes, w.nodes()));
    static_cast<void>(store_.resize(table_id::jobs, w.jobs().size()));
    held_.reset(w.nodes(), resource_count, most_grants);
    for (std::size_t r = 0; r < resource_count; ++r)
        for (std::size_t node = 0; node < w.nodes(); ++node)
            store_.at(columns_.resources[r].capacity, node) = node_capacity[r];
    for (std::size_t row = 0; row < w.jobs().size(); ++row) show(w.jobs()[row], row);
}

void classify::show(synthetic_job const& job, std::size_t row) {
    store_.at(columns_.id, row) = job.id;
    store_.at(columns_.state, row) = reads_state_ ? job.state : std::uint32_t{RATION_RUNNING};
    for (std::uint32_t r = 0; r < resource_count; ++r) {
        auto const& c = columns_.resources[r];
        store_.at(c.minimum, row) = reads_minimum_[r] ? job.minimum[r] : 0;
        store_.at(c.maximum, row) = reads_maximum_[r] ? job.maximum[r] : RATION_UNLIMITED;
        for (std::uint32_t node = 0; node < most_nodes; ++node)
            if (job.held[node][r] != 0) held_.set({{job.id}, node, static_cast<resource_id>(r), job.held[node][r]}, {});
    }
}

}  // namespace ration::conformance
