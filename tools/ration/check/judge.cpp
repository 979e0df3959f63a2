// SPDX-License-Identifier: BSL-1.0
#include "judge.hpp"

#include <fmt/core.h>
#include <set>
#include <tuple>

namespace ration::conformance {
namespace {

/// No sum overflows: an answer has at most `most_grants` rows of at most RATION_MAX_AMOUNT, proved before.
[[nodiscard]] std::string over_capacity(world const& w, std::span<ration_grant const> grants) {
    for (std::size_t node = 0; node < w.nodes(); ++node)
        for (std::size_t r = 0; r < resource_count; ++r) {
            std::int64_t promised = w.promised(node, r);
            for (auto const& g : grants) {
                if (g.node != node || g.resource != r) continue;
                auto const before = w.jobs()[g.job].held[node][r];
                promised -= before == RATION_UNLIMITED ? 0 : before;
                promised += g.amount == RATION_UNLIMITED ? 0 : g.amount;
            }
            if (promised > node_capacity[r])
                return fmt::format("node {} has {} of {} and would promise {}", node, node_capacity[r],
                                   standard_resources[r].name, promised);
        }
    return {};
}

[[nodiscard]] std::string twice(std::span<ration_grant const> grants) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>> seen;
    for (std::size_t row = 0; row < grants.size(); ++row) {
        auto const& g = grants[row];
        if (!seen.insert({g.job, g.node, g.resource}).second)
            return fmt::format("row {} grants job {}, node {}, resource {} a second time in one tick", row, g.job, g.node,
                               g.resource);
    }
    return {};
}

}  // namespace

judge::judge(subject const& s) : reasons_(s.reasons), reads_state_(s.reads("jobs/state")) {
    for (std::size_t r = 0; r < resource_count; ++r) {
        std::string const name(standard_resources[r].name);
        reads_minimum_[r] = s.reads("jobs/min." + name);
        reads_maximum_[r] = s.reads("jobs/max." + name);
    }
}

std::string judge::fault(world const& w, std::span<ration_grant const> grants) const {
    for (std::size_t row = 0; row < grants.size(); ++row)
        if (auto const wrong = fault_of_row(w, grants[row]); !wrong.empty()) return fmt::format("row {}: {}", row, wrong);
    if (auto wrong = twice(grants); !wrong.empty()) return wrong;
    return over_capacity(w, grants);
}

std::string judge::fault_of_row(world const& w, ration_grant const& g) const {
    if (g.job >= w.jobs().size()) return fmt::format("job {}, and the jobs table has {} rows", g.job, w.jobs().size());
    if (g.node >= w.nodes()) return fmt::format("node {}, and the nodes table has {} rows", g.node, w.nodes());
    if (g.resource >= resource_count) return fmt::format("resource {}, and the host has {}", g.resource, resource_count);
    if (g.reason != 0 && g.reason >= reasons_) return fmt::format("reason {}, and the manifest lists {}", g.reason, reasons_);
    if (g.amount < 0) return fmt::format("the amount {} is negative", g.amount);
    if (g.amount > RATION_MAX_AMOUNT && g.amount != RATION_UNLIMITED)
        return fmt::format("the amount {} is above RATION_MAX_AMOUNT: sums of it overflow", g.amount);
    if (g.amount == RATION_UNLIMITED && standard_resources[g.resource].cut == divisibility::whole)
        return fmt::format("RATION_UNLIMITED of {}, which comes in whole units", standard_resources[g.resource].name);
    return g.amount == 0 ? std::string() : fault_of_amount(w.jobs()[g.job], g);
}

std::string judge::fault_of_amount(made_up_job const& job, ration_grant const& g) const {
    if (reads_state_ && job.is_over()) return fmt::format("job {} is done or failed and is given {}", g.job, g.amount);
    if (g.amount == RATION_UNLIMITED) return {};
    if (reads_minimum_[g.resource] && g.amount < job.minimum[g.resource])
        return fmt::format("{} is below what job {} accepts, {}", g.amount, g.job, job.minimum[g.resource]);
    if (reads_maximum_[g.resource] && g.amount > job.maximum[g.resource])
        return fmt::format("{} is above what job {} accepts, {}", g.amount, g.job, job.maximum[g.resource]);
    return {};
}

}  // namespace ration::conformance
