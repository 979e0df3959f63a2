// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The optimisation of `sia`: one configuration for each job, on devices of several types.
///
/// `allocation_dp` is the counterpart for devices of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/configuration_table.hpp>
#include <ration/policies/detail/heap.hpp>

namespace ration::policies::detail {

/// Chooses one configuration or none for each job, so that the sum of their values is the largest
/// and the devices of each type suffice. This is a knapsack of several dimensions. If a table of it
/// would be too large, prices of the types give an answer near the optimum, and a bound.
class configuration_choice {
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    /// A job with its options, which are consecutive in `options_`.
    struct job {
        std::uint32_t first, last;  // of its options
        std::uint32_t chosen;       // an option, or none
    };
    /// A possible improvement in the heap of `use_what_is_left`.
    struct step {
        double gain;  // for each device more
        std::uint32_t job, option;
        [[nodiscard]] static bool before(step const& a, step const& b) noexcept {
            return a.gain != b.gain ? a.gain > b.gain : a.job < b.job;
        }
    };

    buffer<std::int64_t> capacities_, left_;  // by type
    buffer<double> prices_;
    buffer<job> jobs_;
    buffer<configuration> options_;
    buffer<double> others_;  // by job: the most it gains with another type, at the prices
    heap<step> steps_;
    configuration_table table_;
    double bound_ = 0;

public:
    /// Allocates for this number of jobs and types; a table has at most `additions` entries. Jobs
    /// with more than 16 options may allocate later.
    void reserve(std::size_t jobs, std::size_t types, std::size_t additions) noexcept {
        capacities_.reserve(types);
        left_.reserve(types);
        prices_.reserve(types);
        jobs_.reserve(jobs);
        others_.reserve(jobs);
        steps_.reserve(jobs);
        options_.reserve(16 * jobs);
        // `solve` counts each job and each of its options, and a job with options has a row
        table_.reserve(additions / 2 + additions / 8);
    }

    /// Starts a new problem with these devices of each type.
    void begin(std::span<std::int64_t const> capacities) noexcept {
        capacities_.assign(capacities.data(), capacities.size());
        jobs_.clear();
        options_.clear();
    }
    /// Adds a job without options.
    void add_job() noexcept {
        auto const here = static_cast<std::uint32_t>(options_.size());
        jobs_.push_back({here, here, none});
    }
    /// Adds an option to the last job. Options of one type are added together, in ascending order
    /// of devices. An option that is worth no more than a smaller one, or than none, is dropped. A value above 1e200
    /// counts as that, so that no sum overflows.
    void add(configuration const& c) noexcept {
        job& j = jobs_.back();
        if (!(c.value > 0) || c.devices <= 0 || c.devices > capacities_[c.type]) return;
        if (j.last > j.first && options_.back().type == c.type && options_.back().value >= c.value) return;
        constexpr double most = 1e200;
        options_.push_back({.value = c.value < most ? c.value : most, .devices = c.devices, .type = c.type});
        ++j.last;
    }

    /// The choice for a job; nullptr if it has none.
    [[nodiscard]] configuration const* chosen(std::size_t j) const noexcept {
        return jobs_[j].chosen == none ? nullptr : &options_[jobs_[j].chosen];
    }
    /// The sum of the values of the chosen options.
    [[nodiscard]] double value() const noexcept {
        double sum = 0;
        for (auto const& j : jobs_) sum += j.chosen == none ? 0 : options_[j.chosen].value;
        return sum;
    }
    /// An upper bound of every choice's value.
    [[nodiscard]] double bound() const noexcept { return bound_; }

    /// Solves the problem. Returns true if the answer is optimal, which requires a table of at most
    /// `additions`. O(options x product of all capacities) for a table; otherwise about 200 visits
    /// of each option for each type.
    bool solve(std::int64_t additions) noexcept {
        double states = 1, options = static_cast<double>(options_.size() + jobs_.size());
        for (std::int64_t const c : capacities_) states *= static_cast<double>(c + 1);
        bool const exact =
            states * options <= static_cast<double>(additions) && states * 8 <= static_cast<double>(additions);
        if (exact) {
            solve_exactly();
            bound_ = value();
        } else {
            find_prices();
            make_it_fit();
            use_what_is_left();
        }
        return exact;
    }

private:
    [[nodiscard]] std::span<configuration const> options_of(job const& j) const noexcept {
        return options_.view().subspan(j.first, j.last - j.first);
    }
    void solve_exactly() noexcept {
        table_.begin(capacities_.view());
        for (auto const& j : jobs_)
            if (j.first != j.last) table_.add(options_of(j));
        for (std::size_t i = jobs_.size(); i-- > 0;) {
            job& j = jobs_[i];
            auto const* const best = j.first == j.last ? nullptr : table_.take_last(options_of(j));
            j.chosen = best == nullptr ? none : static_cast<std::uint32_t>(best - options_.data());
        }
    }

    // Prices: every job takes its best option if a device of each type has a price.

    /// The value of an option, less the price of its devices.
    [[nodiscard]] double net(configuration const& c) const noexcept {
        return c.value - prices_[c.type] * static_cast<double>(c.devices);
    }

    /// Finds prices type by type. With several types the prices influence each other, so it
    /// repeats.
    void find_prices() noexcept {
        prices_.reset(capacities_.size());
        others_.reset(jobs_.size());
        bound_ = std::numeric_limits<double>::infinity();
        for (int sweep = 0; sweep < (capacities_.size() == 1 ? 1 : 4); ++sweep) {
            for (std::uint32_t type = 0; type < capacities_.size(); ++type) find_price(type);
            choose_at_prices();
        }
    }
    /// Finds the lowest price of one type, by bisection, at which the demand fits its capacity.
    void find_price(std::uint32_t type) noexcept {
        double low = 0, high = 0;
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            others_[j] = 0;
            for (std::uint32_t o = jobs_[j].first; o < jobs_[j].last; ++o) {
                configuration const& c = options_[o];
                if (c.type != type && net(c) > others_[j]) others_[j] = net(c);
                if (c.type == type && c.value / static_cast<double>(c.devices) > high)
                    high = c.value / static_cast<double>(c.devices);
            }
        }
        if (demand(type, 0) <= capacities_[type]) high = 0;
        // 30 halvings give a price that is exact to 1e-9 of the highest one.
        for (int round = 0; round < 30 && high > 0; ++round) {
            double const middle = low + (high - low) / 2;
            (demand(type, middle) <= capacities_[type] ? high : low) = middle;
        }
        prices_[type] = high;
    }
    /// The devices of the type that all jobs take at this price.
    [[nodiscard]] std::int64_t demand(std::uint32_t type, double price) const noexcept {
        std::int64_t sum = 0;
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            double most = others_[j];
            std::int64_t devices = 0;
            for (std::uint32_t o = jobs_[j].first; o < jobs_[j].last; ++o) {
                configuration const& c = options_[o];
                double const worth = c.type == type ? c.value - price * static_cast<double>(c.devices) : 0;
                if (worth > most) {
                    most = worth;
                    devices = c.devices;
                }
            }
            sum += devices;
        }
        return sum;
    }
    /// Chooses the best option of each job at the prices, and improves the bound (Lagrangian
    /// duality).
    void choose_at_prices() noexcept {
        left_.assign(capacities_.data(), capacities_.size());
        double bound = 0;
        for (std::size_t t = 0; t < capacities_.size(); ++t) bound += prices_[t] * static_cast<double>(capacities_[t]);
        for (auto& j : jobs_) {
            double most = 0;
            j.chosen = none;
            for (std::uint32_t o = j.first; o < j.last; ++o)
                if (net(options_[o]) > most) {
                    most = net(options_[o]);
                    j.chosen = o;
                }
            bound += most;
            if (j.chosen != none) left_[options_[j.chosen].type] -= options_[j.chosen].devices;
        }
        if (bound < bound_) bound_ = bound;
    }

    // Corrections: devices that the prices leave over, or overdraw where prices influence each
    // other.

    [[nodiscard]] double value_of(std::uint32_t option) const noexcept {
        return option == none ? 0 : options_[option].value;
    }
    /// Changes the option of a job, and counts the devices left.
    void choose(job& j, std::uint32_t option) noexcept {
        if (j.chosen != none) left_[options_[j.chosen].type] += options_[j.chosen].devices;
        j.chosen = option;
        if (option != none) left_[options_[option].type] -= options_[option].devices;
    }

    /// While a type is overdrawn, makes the change with the least loss for each device that it
    /// frees.
    void make_it_fit() noexcept {
        for (std::uint32_t type = 0; type < left_.size(); ++type)
            while (left_[type] < 0) {
                job* cheapest = nullptr;
                std::uint32_t to = none;
                double least = std::numeric_limits<double>::infinity();
                for (auto& j : jobs_) {
                    if (j.chosen == none || options_[j.chosen].type != type) continue;
                    consider(j, none, options_[j.chosen].devices, least, cheapest, to);
                    for (std::uint32_t o = j.first; o < j.last; ++o) {
                        bool const same = options_[o].type == type;
                        if (!same && left_[options_[o].type] < options_[o].devices) continue;
                        std::int64_t const freed = options_[j.chosen].devices - (same ? options_[o].devices : 0);
                        if (freed > 0) consider(j, o, freed, least, cheapest, to);
                    }
                }
                choose(*cheapest, to);
            }
    }
    /// Keeps the change with the smallest loss for each freed device.
    void consider(job& j, std::uint32_t to, std::int64_t freed, double& least, job*& cheapest,
                  std::uint32_t& best) const noexcept {
        double const loss = (value_of(j.chosen) - value_of(to)) / static_cast<double>(freed);
        if (loss < least) {
            least = loss;
            cheapest = &j;
            best = to;
        }
    }

    /// Makes the change with the largest gain for each device, while one fits.
    void use_what_is_left() noexcept {
        steps_.clear();
        for (std::uint32_t j = 0; j < jobs_.size(); ++j) push_step(j);
        while (!steps_.empty()) {
            step const best = steps_.top();
            steps_.pop();
            // Other jobs may have taken the devices since the step was computed.
            if (fits(jobs_[best.job], best.option)) choose(jobs_[best.job], best.option);
            push_step(best.job);
        }
    }
    /// The devices that the option needs beyond those that its job has.
    [[nodiscard]] std::int64_t taken(job const& j, std::uint32_t option) const noexcept {
        bool const same = j.chosen != none && options_[j.chosen].type == options_[option].type;
        return options_[option].devices - (same ? options_[j.chosen].devices : 0);
    }
    [[nodiscard]] bool fits(job const& j, std::uint32_t option) const noexcept {
        return taken(j, option) <= left_[options_[option].type];
    }
    /// Adds the best improvement of a job to the heap.
    void push_step(std::uint32_t index) noexcept {
        job const& j = jobs_[index];
        step best{0, index, none};
        for (std::uint32_t o = j.first; o < j.last; ++o) {
            double const gain = options_[o].value - value_of(j.chosen);
            if (!(gain > 0) || !fits(j, o)) continue;
            std::int64_t const devices = taken(j, o);
            double const each =
                devices > 0 ? gain / static_cast<double>(devices) : std::numeric_limits<double>::infinity();
            if (best.option == none || each > best.gain) best = {each, index, o};
        }
        if (best.option != none) steps_.push(best);
    }
};

}  // namespace ration::policies::detail
