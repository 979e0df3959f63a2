// SPDX-License-Identifier: BSL-1.0
/// Successive halving: K. Jamieson, A. Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
/// Optimization", AISTATS 2016. Each round measures the remaining candidates once, and keeps the fastest third.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ration::program {

struct halving_rules {
    std::uint64_t seed = 1;
    std::size_t runs = 0;         ///< measurements at most; 0: every candidate is measured
    std::uint32_t finalists = 3;  ///< remain until the end
    std::uint32_t repeat = 5;     ///< rounds of the finalists alone
};

/// One measured candidate. Speeds are by round: all candidates that reached a round have a speed in it.
struct halving_candidate {
    std::size_t index = 0;
    std::vector<double> speeds{};
    bool failed = false;
};

/// A ratio of speeds with its 95 % confidence interval.
struct speed_ratio {
    double mean = 0, low = 0, high = 0;
};

/// Candidate 0 is the present setting. It stays until the end, so that the winner is compared with it in the same
/// rounds. Drift of the machine affects all candidates of a round alike.
class successive_halving {
    halving_rules rules_;
    std::vector<halving_candidate> all_;  // those that entered, in order of entry
    std::vector<std::size_t> remaining_;  // into `all_`
    std::vector<std::size_t> turn_;       // the rest of this round, from the back
    std::uint32_t round_ = 0, final_rounds_ = 0;

public:
    /// Pre: `candidates` is above 0. With a limit on the runs a random part of the candidates enters.
    successive_halving(std::size_t candidates, halving_rules const& rules);

    /// The candidate to measure now; none: the search is over.
    [[nodiscard]] std::optional<std::size_t> next() const noexcept;
    /// The speed of the candidate of `next`. Pre: `speed` is above 0.
    void add(double speed);
    /// The candidate of `next` has no speed. It is not measured again.
    void fail();

    [[nodiscard]] std::uint32_t round() const noexcept { return round_; }
    /// Measurements until now.
    [[nodiscard]] std::size_t runs() const noexcept;
    /// Those that entered: the ones with the most rounds first, of these the fastest first, and failed ones last.
    [[nodiscard]] std::vector<halving_candidate> ranking() const;
    /// Candidates that `runs` measurements can begin with.
    [[nodiscard]] static std::size_t entrants(std::size_t candidates, halving_rules const& rules) noexcept;

private:
    void begin_round();
    void finish_turn();
    void drop_slow();
    /// Geometric mean over its newest rounds, at most `repeat`, so that the rounds that chose the finalists do not
    /// count for them. Candidates of one round have the same rounds, so that drift cancels out.
    [[nodiscard]] double score(std::size_t at) const;
};

/// `of` relative to `base`, from the newest `rounds` in which both were measured. Pre: both have a speed.
[[nodiscard]] speed_ratio ratio_of(halving_candidate const& of, halving_candidate const& base, std::uint32_t rounds);

}  // namespace ration::program
