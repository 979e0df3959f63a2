// SPDX-License-Identifier: BSL-1.0
/// The highest rate of requests that a server sustains within a limit on its latency, found in few passes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace ration::program {

/// The outcome of one pass at one rate. Latencies count from the planned time of a request, so that a slow server or
/// generator cannot hide its queue (coordinated omission).
struct load_pass {
    double offered = 0;       ///< requests per second
    double served = 0;        ///< from the first planned time to the last answer
    double p50 = 0, p95 = 0;  ///< seconds
    double lateness = 0;      ///< p95 of the time from the plan to the sending, seconds
};

struct ramp_rules {
    double first = 1;         ///< requests per second
    double limit = 1;         ///< seconds, of p95
    double precision = 0.02;  ///< the search ends at this ratio of a rate that fails to one that passes, less 1
    double keeps_up = 0.97;   ///< served / offered that a pass needs
    std::size_t passes = 60;  ///< at most
};

/// A pass with `latencies` and `lateness` of its requests in seconds. `duration`: as of `load_pass::served`. Pre: there
/// is a request. Sorts both.
[[nodiscard]] load_pass pass_of(double offered, double duration, std::vector<double>& latencies,
                                std::vector<double>& lateness);

/// Raises the rate by half until two passes of one rate fail, and halves the distance between the two rates from then
/// on. One failed pass may be due to other work on the machine.
class load_ramp {
    ramp_rules rules_;
    double rate_;
    std::optional<double> passed_, failed_;
    bool repeats_ = false;
    std::vector<load_pass> passes_;

public:
    explicit load_ramp(ramp_rules const& rules) noexcept : rules_(rules), rate_(rules.first) {}

    /// The rate of the next pass; none: the search is over.
    [[nodiscard]] std::optional<double> next() const noexcept;
    /// The pass of `next`.
    void add(load_pass const& pass);
    /// The same beside another server at a fixed rate, which has to be good too. Returns whether both were.
    bool add(load_pass pass, load_pass const& beside);

    [[nodiscard]] bool is_good(load_pass const& pass) const noexcept;
    [[nodiscard]] std::span<load_pass const> passes() const noexcept { return passes_; }
    /// The good pass with the highest rate; nullptr: no rate was sustained.
    [[nodiscard]] load_pass const* best() const noexcept;
};

}  // namespace ration::program
