// SPDX-License-Identifier: BSL-1.0
// The estimator phases and the policy phase_limits on the containers of ai4dl.hpp, tick by tick.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/assert.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/policies/phase_limits.hpp>

#include "ai4dl.hpp"

namespace published {
namespace ai4dl {

/// A value that has to be there.
template <class T>
[[nodiscard]] T expected_value(result<T> made) {
    RATION_ASSERT(made, "the host of one container cannot be set up");
    return std::move(made).value();
}

/// One container on a node that is large enough. Grants come into force at once, and hold nothing back.
class limited_container {
    snapshot_store store_;
    standard_columns columns_ = expected_value(standard_columns::declare(store_, standard_resources));
    estimator_adapter<estimators::phases> estimator_;
    policies::phase_limits policy_;
    binding<policies::phase_limits::inputs> bound_;

public:
    limited_container(estimators::phase_model const& model, policies::phase_limits_parameters const& p)
        : estimator_(estimators::phases({model})), policy_(p) {
        for (auto const* const name : {"jobs/throttled.cpu", "jobs/class"})
            RATION_ASSERT(columns_.add(store_, name), "a new store takes the columns");
        RATION_ASSERT(store_.resize(table_id::nodes, 1) && store_.resize(table_id::jobs, 1), "two rows fit");
        RATION_ASSERT(estimator_.bind(store_, {.jobs = 1, .nodes = 1}), "the store has all inputs");
        bound_ = expected_value(bind_columns<policies::phase_limits::inputs>(store_.schema()));
        static_cast<void>(policy_.prepare({.jobs = 1, .nodes = 1}));
        store_[columns_.id][0] = 1;
        store_[columns_.state][0] = static_cast<std::uint32_t>(job_state::running);
        for (auto const r : {resource_id::cpu, resource_id::memory}) {
            store_[of(r).capacity][0] = max_amount;
            store_[of(r).maximum][0] = unlimited;
        }
    }

    /// The limits that hold after a sample, for CPU and memory; `unlimited` = none.
    [[nodiscard]] std::array<std::int64_t, 2> take(usage_sample const& sample) {
        store_[of(resource_id::cpu).used][0] = sample.cpu;
        store_[of(resource_id::memory).used][0] = sample.memory;
        tick_data const data{.now = seconds(sample.at), .data = store_.view()};
        estimator_.estimate(data, store_);
        std::array<grant, 4> space;
        grants answer(space);
        RATION_ASSERT(policy_.decide(tick<policies::phase_limits::inputs>(data, bound_), answer) == status::ok,
                      "two grants fit");
        for (auto const& g : answer.rows()) store_[of(static_cast<resource_id>(g.resource)).held][0] = g.amount;
        return {store_[of(resource_id::cpu).held][0], store_[of(resource_id::memory).held][0]};
    }

private:
    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
};

/// What the policy allocates of one resource, from the second window of each container on.
struct policy_outcome {
    double met = 0;    ///< part of the samples
    double ratio = 0;  ///< allocated, over what the last window allocates at the same part
};

/// A container without a limit reserves its own largest demand, as a static limit would.
[[nodiscard]] inline std::array<policy_outcome, 2> policy_outcomes(comparison all) {
    std::array<double, 2> met{}, granted{}, oracle{};
    double samples = 0;
    std::array<demand, 2> const demands{&usage_sample::cpu, &usage_sample::memory};
    for (auto const& one : all.subjects) {
        limited_container host(one.model, {.interval = all.window, .limit_memory = true});
        std::array<std::int64_t, 2> limits{unlimited, unlimited};
        auto const windows = windows_of(one.tested, all.window);
        for (std::size_t w = 0; w < windows.size(); ++w)
            for (std::size_t i = windows[w].first; i < windows[w].second; ++i) {
                for (std::size_t r = 0; r < 2 && w > 0; ++r) {
                    auto const less = [&](auto const& a, auto const& b) { return a.*demands[r] < b.*demands[r]; };
                    auto const from = one.tested.begin();
                    auto const most = std::max_element(from, one.tested.end(), less);
                    auto const here = std::max_element(from + static_cast<std::ptrdiff_t>(windows[w].first),
                                                       from + static_cast<std::ptrdiff_t>(windows[w].second), less);
                    double const limit = limits[r] < max_amount ? static_cast<double>(limits[r]) : (*most).*demands[r];
                    met[r] += one.tested[i].*demands[r] <= limit ? 1 : 0;
                    granted[r] += limit;
                    oracle[r] += (*here).*demands[r];
                }
                samples += w > 0 ? 1 : 0;
                limits = host.take(one.tested[i]);
            }
    }
    std::array<policy_outcome, 2> out;
    for (std::size_t r = 0; r < 2; ++r) {
        all.met = out[r].met = met[r] / samples;
        out[r].ratio = granted[r] / oracle[r] / allocated(all, rule::reactive, demands[r]);
    }
    return out;
}

}  // namespace ai4dl
}  // namespace published
