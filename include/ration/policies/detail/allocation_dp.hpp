// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// What one job may be given, from `least` to `most` devices, and what it is given.
struct device_choice {
    std::int64_t least = 0, most = 0, given = 0;
};

/// Chooses for each job a number of devices so that the gains add up to the most and the devices suffice.
///
/// `gain(j, k)`, k from least to most, is what job j is worth with k devices: at least 0, or `impossible`. Nothing is asked of its
/// shape: it may fall and have gaps. Preconditions: gain(j, least) is possible, and the leasts of all jobs fit.
class allocation_dp {
    buffer<double> before_, best_;  // [k]: the most that the jobs so far are worth with k devices
    buffer<std::uint16_t> chosen_;  // [job][k]: what the last of them got
    std::size_t most_devices_ = 0;

public:
    static constexpr double impossible = -1;
    static constexpr std::int64_t device_limit = 65535;

    /// `exact` serves up to so many devices, at most `device_limit`. Every job has a device, so no more jobs than devices.
    void reserve(std::size_t jobs, std::size_t devices) noexcept {
        most_devices_ = devices;
        before_.resize(devices + 1), best_.resize(devices + 1);
        chosen_.resize((jobs < devices ? jobs : devices) * (devices + 1));
    }

    /// Additions that `exact` makes at most.
    [[nodiscard]] static std::int64_t steps(std::span<device_choice const> jobs, std::int64_t devices) noexcept {
        std::int64_t options = 0;
        for (auto const& j : jobs) options += j.most - j.least + 1;
        return options * (devices + 1);
    }
    [[nodiscard]] bool has_room(std::size_t jobs, std::int64_t devices) const noexcept {
        return devices <= static_cast<std::int64_t>(most_devices_) && jobs * (static_cast<std::size_t>(devices) + 1) <= chosen_.size();
    }

    /// The best allocation; of equally good ones that which gives the last job the fewest devices, then the last but one, and so
    /// on. Returns its worth. P(j, k) = max over g of gain(j, g) + P(j - 1, k - g), with P(0, k) = 0: devices may stay free.
    /// Precondition: has_room. O(jobs x devices x most).
    template <class Gain>
    double exact(std::span<device_choice> jobs, std::int64_t devices, Gain const& gain) noexcept {
        auto const width = static_cast<std::size_t>(devices) + 1;
        for (std::size_t k = 0; k < width; ++k) best_[k] = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            before_.swap(best_);
            for (std::size_t k = 0; k < width; ++k) best_[k] = -std::numeric_limits<double>::infinity();
            for (std::int64_t g = jobs[j].least; g <= jobs[j].most; ++g)
                if (double const worth = gain(j, g); worth >= 0) offer(static_cast<std::size_t>(g), worth, width, &chosen_[j * width]);
        }
        auto left = static_cast<std::size_t>(devices);
        for (std::size_t j = jobs.size(); j-- > 0; left -= static_cast<std::size_t>(jobs[j].given))
            jobs[j].given = chosen_[j * width + left];
        return best_[width - 1];
    }

    /// A good allocation where the best one is too dear: devices get a price, each job takes what is best for it at that price,
    /// and bisection finds the price at which the devices just suffice. What is left over then goes to the jobs in order. Exact where
    /// gains are concave, up to what is left over. Returns an upper bound on what any allocation is worth.
    /// O(sum of (most - least + 1)), 50 times.
    template <class Gain>
    static double priced(std::span<device_choice> jobs, std::int64_t devices, Gain const& gain) noexcept {
        double low = 0, high = highest_price(jobs, gain);
        if (demand(jobs, gain, 0) <= devices) return worth(jobs, gain);
        for (int round = 0; round < 46; ++round) {
            double const middle = low + (high - low) / 2;
            (demand(jobs, gain, middle) <= devices ? high : low) = middle;
        }
        static_cast<void>(demand(jobs, gain, low));
        double const bound = worth(jobs, gain) + low * (static_cast<double>(devices) - static_cast<double>(total(jobs)));
        std::int64_t left = devices - demand(jobs, gain, high);
        if (left < 0) {  // rounding, at the highest price only
            for (auto& j : jobs) j.given = j.least;
            left = devices - total(jobs);
        }
        for (double const price : {low, 0.0})
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                std::int64_t const held = jobs[j].given, room = jobs[j].most - held;
                jobs[j].given = best_at(price, j, held, held + (room < left ? room : left), gain);
                left -= jobs[j].given - held;
            }
        return bound;
    }

    /// What the allocation is worth, added up from the first job to the last.
    template <class Gain>
    [[nodiscard]] static double worth(std::span<device_choice const> jobs, Gain const& gain) noexcept {
        double sum = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) sum += gain(j, jobs[j].given);
        return sum;
    }

private:
    /// `g` devices for the job, for every number of devices there may be. Ascending g and `>`: of equals the fewest devices.
    void offer(std::size_t g, double worth, std::size_t width, std::uint16_t* chosen) noexcept {
        double const* const before = before_.data();
        double* const best = best_.data();
        for (std::size_t k = g; k < width; ++k) {
            double const sum = worth + before[k - g];
            if (sum > best[k]) best[k] = sum, chosen[k] = static_cast<std::uint16_t>(g);
        }
    }

    /// The fewest devices from `from` to `to` that are best when each costs `price`. Precondition: `from` is possible.
    template <class Gain>
    [[nodiscard]] static std::int64_t best_at(double price, std::size_t j, std::int64_t from, std::int64_t to, Gain const& gain) noexcept {
        std::int64_t found = from;
        double most = gain(j, from) - price * static_cast<double>(from);
        for (std::int64_t k = from + 1; k <= to; ++k) {
            double const worth = gain(j, k);
            if (worth < 0 || !(worth - price * static_cast<double>(k) > most)) continue;
            most = worth - price * static_cast<double>(k);
            found = k;
        }
        return found;
    }

    /// Everybody takes what is best at the price; how many devices that is.
    template <class Gain>
    [[nodiscard]] static std::int64_t demand(std::span<device_choice> jobs, Gain const& gain, double price) noexcept {
        for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].given = best_at(price, j, jobs[j].least, jobs[j].most, gain);
        return total(jobs);
    }
    [[nodiscard]] static std::int64_t total(std::span<device_choice const> jobs) noexcept {
        std::int64_t sum = 0;
        for (auto const& j : jobs) sum += j.given;
        return sum;
    }

    /// At this price nobody wants more than its least.
    template <class Gain>
    [[nodiscard]] static double highest_price(std::span<device_choice const> jobs, Gain const& gain) noexcept {
        double highest = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            for (std::int64_t k = jobs[j].least + 1; k <= jobs[j].most; ++k) {
                double const slope = (gain(j, k) - gain(j, jobs[j].least)) / static_cast<double>(k - jobs[j].least);
                highest = slope > highest ? slope : highest;
            }
        return highest;
    }
};

}  // namespace ration::policies::detail
