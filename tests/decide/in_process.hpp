// SPDX-License-Identifier: BSL-1.0
/// A policy that is asked in process about a synthetic cluster: what `ration decide` has to answer.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/check.hpp>
#include <ration/testing/synthetic_cluster.hpp>

namespace ration::program::testing {

class asked_in_process {
    ration::testing::synthetic_cluster& cluster_;
    std::unique_ptr<any_policy> policy_;
    std::vector<grant> space_;
    checker check_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;

public:
    /// `policy` reads columns of `cluster` only.
    asked_in_process(ration::testing::synthetic_cluster& cluster, std::unique_ptr<any_policy> policy,
                     limits const& most)
        : cluster_(cluster), policy_(std::move(policy)), space_(most.grants()) {
        auto const bound = policy_->bind(cluster.store().schema(), most);
        RATION_ASSERT(bound, "a policy of ration reads a column that a synthetic cluster lacks");
        check_.prepare(cluster.store(), cluster.columns(), ration::testing::synthetic_resources, most.nodes,
                       most.grants());
    }

    /// The accepted grants; false if the policy gave none.
    [[nodiscard]] bool decide(std::uint64_t number, std::uint64_t seed) {
        grants out(space_);
        auto tick = cluster_.data(number, seed);
        tick.budget = milliseconds(100);
        if (policy_->decide(tick, out) != status::ok || out.overflowed()) return false;
        check_.check(cluster_.held(), out.rows(), accepted_, rejected_);
        return true;
    }

    [[nodiscard]] std::size_t rejected() const noexcept { return rejected_.size(); }
    [[nodiscard]] nlohmann::json accepted() const {
        auto all = nlohmann::json::array();
        for (auto const& g : accepted_)
            all.push_back(
                {{"job", g.job.value},
                 {"node", g.node()},
                 {"resource", standard_resources[static_cast<std::size_t>(g.resource())].name},
                 {"amount", g.amount() == unlimited ? nlohmann::json("unlimited") : nlohmann::json(g.amount())},
                 {"group", g.asked->group},
                 {"reason", policy_->about().reason(g.reason())}});
        return all;
    }
    /// Puts the grants into force.
    void apply() {
        for (auto const& g : accepted_) cluster_.grant(g.what(), g.job_row());
        cluster_.show_held();
    }
};

}  // namespace ration::program::testing
