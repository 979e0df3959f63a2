// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The exact part of `configuration_choice`: a knapsack with one dimension for each type of device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// A number of devices of one type, and the gain of a job with them over having none.
struct configuration {
    /// The gain; in the unit of the caller's sum, above 0 for a useful configuration.
    double value = 0;
    /// The number of devices.
    std::int64_t devices = 0;
    /// Their type, from 0.
    std::uint32_t type = 0;
};

/// A row for each number of jobs, from 0. Its entry for a state has the most that these jobs are worth when they have
/// at most the devices of the state, a number of each type.
class configuration_table {
    std::span<std::int64_t const> capacities_;  // by type
    std::size_t states_ = 1, state_ = 0;
    buffer<double> rows_;

public:
    /// Allocates for this number of entries.
    void reserve(std::size_t entries) noexcept { rows_.reserve(entries); }

    /// Starts without jobs. The span has to live as long as the table is used.
    void begin(std::span<std::int64_t const> capacities) noexcept {
        capacities_ = capacities;
        states_ = stride(static_cast<std::uint32_t>(capacities.size()));
        state_ = states_ - 1;
        rows_.clear();
        double* const row = rows_.extend(states_);
        for (std::size_t s = 0; s < states_; ++s) row[s] = 0;
    }
    /// Adds a job with these options, at least one. O(options x states).
    void add(std::span<configuration const> options) noexcept {
        double* const best = rows_.extend(states_);
        double const* const before = best - states_;
        double const* present = before;
        for (configuration const& c : options) {
            offer(c, before, present, best);
            present = best;
        }
    }
    /// Removes the job that was added last, with its devices in the best answer. Returns the option that it has there,
    /// nullptr for none. `options`: those of `add`. The first call is for the best answer with all devices, and no job
    /// may be added after it. O(options).
    [[nodiscard]] configuration const* take_last(std::span<configuration const> options) noexcept {
        double const* const before = rows_.data() + rows_.size() - 2 * states_;
        double const value = before[states_ + state_];
        rows_.resize(rows_.size() - states_);
        if (before[state_] >= value) return nullptr;
        for (configuration const& c : options) {
            // The same sum as in `offer`
            if (has_free(c) && c.value + before[state_ - distance(c)] >= value) {
                state_ -= distance(c);
                return &c;
            }
        }
        return nullptr;
    }

private:
    /// Between two states that differ by one device of the type.
    [[nodiscard]] std::size_t stride(std::uint32_t type) const noexcept {
        std::size_t s = 1;
        for (std::uint32_t t = 0; t < type; ++t) s *= static_cast<std::size_t>(capacities_[t] + 1);
        return s;
    }
    /// Between two states that differ by the devices of the option.
    [[nodiscard]] std::size_t distance(configuration const& c) const noexcept {
        return static_cast<std::size_t>(c.devices) * stride(c.type);
    }
    [[nodiscard]] bool has_free(configuration const& c) const noexcept {
        return static_cast<std::int64_t>(state_ / stride(c.type)) % (capacities_[c.type] + 1) >= c.devices;
    }
    /// Writes the row `best`. `before`: the row without the job; `present`: that with its earlier options.
    void offer(configuration const& c, double const* before, double const* present, double* best) const noexcept {
        std::size_t const shift = distance(c);
        std::size_t const block = stride(c.type) * static_cast<std::size_t>(capacities_[c.type] + 1);
        for (std::size_t start = 0; start < states_; start += block) {
            if (present != best)
                for (std::size_t s = start; s < start + shift; ++s) best[s] = present[s];
            for (std::size_t s = start + shift; s < start + block; ++s) {
                // Without a branch, so that the compiler uses vector instructions
                double const sum = c.value + before[s - shift];
                best[s] = sum > present[s] ? sum : present[s];
            }
        }
    }
};

}  // namespace ration::policies::detail
