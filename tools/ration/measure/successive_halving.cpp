// SPDX-License-Identifier: BSL-1.0
#include "measure/successive_halving.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include <ration/assert.hpp>
#include <ration/host/rng_sequence.hpp>

#include "common/statistics.hpp"

namespace ration::program {
namespace {

constexpr std::size_t eta = 3;

/// Measurements of a search that begins with `count` candidates.
[[nodiscard]] std::size_t runs_from(std::size_t count, halving_rules const& rules) noexcept {
    std::size_t runs = 0;
    for (; count > rules.finalists; count = std::max<std::size_t>((count + eta - 1) / eta, rules.finalists))
        runs += count;
    return runs + count * rules.repeat;
}

[[nodiscard]] std::span<double const> newest_of(std::span<double const> values, std::size_t count) noexcept {
    return values.last(std::min(count, values.size()));
}

}  // namespace

std::size_t successive_halving::entrants(std::size_t candidates, halving_rules const& rules) noexcept {
    if (rules.runs == 0) return candidates;
    while (candidates > 2 && runs_from(candidates, rules) > rules.runs) --candidates;
    return candidates;
}

successive_halving::successive_halving(std::size_t candidates, halving_rules const& rules) : rules_(rules) {
    RATION_ASSERT(candidates > 0, "a search has at least the present setting");
    std::vector<std::size_t> others(candidates - 1);
    std::iota(others.begin(), others.end(), std::size_t{1});
    rng_sequence(rules.seed).shuffle(others);
    others.resize(entrants(candidates, rules) - 1);
    all_.push_back({.index = 0});
    for (auto const one : others) all_.push_back({.index = one});
    remaining_.resize(all_.size());
    std::iota(remaining_.begin(), remaining_.end(), std::size_t{0});
    begin_round();
}

std::optional<std::size_t> successive_halving::next() const noexcept {
    return turn_.empty() ? std::nullopt : std::optional(all_[turn_.back()].index);
}

void successive_halving::add(double speed) {
    all_[turn_.back()].speeds.push_back(speed);
    finish_turn();
}

void successive_halving::fail() {
    all_[turn_.back()].failed = true;
    std::erase(remaining_, turn_.back());
    finish_turn();
}

std::size_t successive_halving::runs() const noexcept {
    std::size_t runs = 0;
    for (auto const& one : all_) runs += one.speeds.size() + (one.failed ? 1 : 0);
    return runs;
}

/// Every second round has the reverse order.
void successive_halving::begin_round() {
    turn_.clear();
    if (remaining_.size() <= rules_.finalists && final_rounds_++ == rules_.repeat) return;
    ++round_;
    turn_ = remaining_;
    if (round_ % 2 == 1) std::ranges::reverse(turn_);
}

void successive_halving::finish_turn() {
    turn_.pop_back();
    if (!turn_.empty()) return;
    drop_slow();
    if (!remaining_.empty()) begin_round();
}

void successive_halving::drop_slow() {
    if (remaining_.size() <= rules_.finalists) return;
    auto const kept = std::max<std::size_t>((remaining_.size() + eta - 1) / eta, rules_.finalists);
    bool const has_present = remaining_.front() == 0;
    auto const by_speed = [this](std::size_t at) { return std::pair(-score(at), at); };
    std::ranges::sort(remaining_.begin() + (has_present ? 1 : 0), remaining_.end(), {}, by_speed);
    remaining_.resize(kept);
    std::ranges::sort(remaining_);
}

double successive_halving::score(std::size_t at) const {
    auto const newest = newest_of(all_[at].speeds, rules_.repeat);
    double sum = 0;
    for (double const speed : newest) sum += std::log(speed);
    return sum / static_cast<double>(newest.size());
}

std::vector<halving_candidate> successive_halving::ranking() const {
    std::vector<std::size_t> order(all_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t at) {
        auto const& one = all_[at];
        auto const rounds = std::ssize(one.speeds);
        return std::tuple(one.failed, -rounds, rounds > 0 ? -score(at) : 0, at);
    });
    std::vector<halving_candidate> out;
    out.reserve(order.size());
    for (auto const at : order) out.push_back(all_[at]);
    return out;
}

speed_ratio ratio_of(halving_candidate const& of, halving_candidate const& base, std::uint32_t rounds) {
    std::vector<double> logs;
    for (std::size_t i = 0; i < std::min(of.speeds.size(), base.speeds.size()); ++i)
        logs.push_back(std::log(of.speeds[i] / base.speeds[i]));
    auto const found = interval_of(newest_of(logs, rounds));
    return {std::exp(found.mean), std::exp(found.mean - found.half), std::exp(found.mean + found.half)};
}

}  // namespace ration::program
