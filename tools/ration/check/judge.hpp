// SPDX-License-Identifier: BSL-1.0
/// Whether grants keep the rules. Written without the engine's own check, so that the two can disagree and one be found wrong.
#pragma once

#include <array>
#include <span>
#include <string>

#include "subject.hpp"
#include "world.hpp"

namespace ration::conformance {

/// A policy is held to the bounds of jobs and to their state only when it reads them: others it cannot know.
class judge {
    std::size_t reasons_;
    bool reads_state_;
    per_resource<bool> reads_minimum_{}, reads_maximum_{};

public:
    explicit judge(subject const& s);
    /// What is wrong with the answer to this tick, as a sentence; empty when nothing is.
    [[nodiscard]] std::string fault(world const& w, std::span<ration_grant const> grants) const;

private:
    [[nodiscard]] std::string fault_of_row(world const& w, ration_grant const& g) const;
    [[nodiscard]] std::string fault_of_amount(made_up_job const& job, ration_grant const& g) const;
};

}  // namespace ration::conformance
