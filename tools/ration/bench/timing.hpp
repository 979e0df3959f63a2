// SPDX-License-Identifier: BSL-1.0
/// How long one decision takes, and what it takes from the heap, in a synthetic cluster whose tables change between two
/// ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ration/text.hpp>

#include "bench/measured_cluster.hpp"

namespace ration::bench {

/// The changes between two ticks: one job changes; or one in a hundred, and at least one; or as many end and as many
/// come, besides.
enum class pattern : std::uint8_t { single, steady, churn };
inline constexpr std::string_view pattern_names[] = {"single", "steady", "churn"};

struct cluster_case {
    std::size_t jobs = 1, devices = 1;
    pattern changes = pattern::steady;
};

/// The errors in answers. Plain memory, so that another process can write it.
struct trouble {
    std::uint64_t refused = 0, lost = 0;  ///< answers with a row that breaks a rule; ticks without an answer
    text<400> first_refused, first_lost;  ///< the first of each, as a sentence

    void note(tick_outcome const& outcome, measured_cluster const& in, any_policy const& policy);
};

/// Nanoseconds of decisions, less what reading the clock takes. Plain memory.
struct decision_times {
    std::uint64_t ticks = 0;
    /// Further ticks: the system ran something else meanwhile. 0 when too few would be left: then these count, too
    std::uint64_t interrupted = 0;
    double median = 0, low = 0, high = 0, longest = 0;  ///< `low` and `high`: the 10th and the 90th percentile
    double loop = 0;                                    ///< the median of the plain loop, timed in turn with the policy
    double grants = 0;                                  ///< rows of an answer, mean
};

/// Counted on ticks of their own, in this process. Plain memory.
struct memory_use {
    std::uint64_t ticks = 0;
    double allocations = 0, faults = 0;  ///< of a tick, mean: what it asks of the heap; pages that it touches first
    std::uint64_t most_allocations = 0;
};

/// One policy in one cluster.
struct measured {
    decision_times times;
    memory_use memory;
    trouble wrong;
    text<400> unfit;  ///< why it cannot be asked in such a cluster; empty when it can
};

/// A policy of this process may use so much of a processor for one answer before the process is ended; one in a worker
/// so much time.
inline constexpr int longest_answer = 5;  // seconds

/// Ends this process by a signal when an answer takes longer than `longest_answer`. Not for a process that has other
/// work to do.
class answer_limit {
public:
    explicit answer_limit(bool in_effect) noexcept : in_effect_(in_effect) {}
    void begin() const noexcept;
    void end() const noexcept;

private:
    bool in_effect_;
};

struct measuring {
    std::uint64_t seed = 1;
    bool times = true, memory = true;
    bool limited = true;  ///< the policy is in this process, which may be ended
};

/// Fills `into` step by step, so that what is known is there if this process ends.
void measure(any_policy& policy, cluster_case const& in, measuring const& how, column_memory* columns, measured& into);

}  // namespace ration::bench
