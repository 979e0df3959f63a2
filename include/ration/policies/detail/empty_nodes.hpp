// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The nodes as if no job ran on them.
///
/// Part of learners.hpp.
#pragma once

#include <cstdint>
#include <span>

namespace ration::policies::detail {

/// How large empty nodes are, and for how many learners they have room. Nodes are read once after they have changed.
class empty_nodes {
    std::int64_t largest_ = 1, capacity_ = 0;
    std::int64_t learner_ = 0;  // the size of the learners that were counted; 0 = none
    std::int64_t slots_ = 0;    // whole learners
    std::int64_t rest_ = 0;     // the most devices of a node beside its whole learners
    bool has_largest_ = false;

public:
    /// The nodes have changed.
    void forget() noexcept {
        has_largest_ = false;
        learner_ = 0;
    }
    /// The devices of the largest node, at least 1. O(nodes) after a change.
    [[nodiscard]] std::int64_t largest(std::span<std::int64_t const> capacities) noexcept {
        if (has_largest_) return largest_;
        largest_ = 1;
        for (std::int64_t const c : capacities) largest_ = c > largest_ ? c : largest_;
        has_largest_ = true;
        return largest_;
    }
    /// Counts the learners of this size for which there is room. O(nodes) after a change.
    void count(std::span<std::int64_t const> capacities, std::int64_t learner) noexcept {
        if (learner_ == learner) return;
        learner_ = learner;
        capacity_ = slots_ = rest_ = 0;
        for (std::int64_t const c : capacities) {
            if (c <= 0) continue;
            capacity_ += c;
            slots_ += c / learner;
            rest_ = c % learner > rest_ ? c % learner : rest_;
        }
    }
    /// The devices of all nodes, as of the last `count`.
    [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
    /// True if learners with this number of devices fit, as of the last `count`.
    [[nodiscard]] bool have_room(std::int64_t devices) const noexcept {
        std::int64_t const whole = devices / learner_, rest = devices % learner_;
        return slots_ > whole || (slots_ == whole && rest_ >= rest);
    }
};

}  // namespace ration::policies::detail
