// SPDX-License-Identifier: BSL-1.0
/// Whether grants keep the rules: those of the engine, proved by its own check, so that what passes here is what a host
/// accepts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ration/host/check.hpp>

#include "cluster_size.hpp"
#include "plugin_under_test.hpp"

namespace ration::conformance {

/// Checks a policy by the bounds and the state of jobs only when it reads them: it cannot keep others.
class classify {
    std::size_t reasons_;
    bool reads_state_;
    testing::per_resource<bool> reads_minimum_{}, reads_maximum_{};
    snapshot_store store_;
    standard_columns columns_;
    ledger held_;
    checker check_;
    buffer<checked_grant> accepted_;
    buffer<rejection> rejected_;

public:
    explicit classify(subject const& s);
    classify(classify const&) = delete;
    classify& operator=(classify const&) = delete;

    /// The error in the answer to this tick, as a sentence; empty if there is none. At most `most_grants` rows.
    [[nodiscard]] std::string fault(testing::synthetic_cluster const& cluster, std::span<ration_grant const> grants);

private:
    void show(testing::synthetic_cluster const& cluster);
    void show(testing::synthetic_job const& job, std::size_t row);
};

}  // namespace ration::conformance
