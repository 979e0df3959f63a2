// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The exact division of devices for policies with values per number of devices: `elastic_batch_dp`, `goodput_jobs`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/loss_dp.hpp>
#include <ration/policies/detail/priced_row.hpp>
#include <ration/policies/detail/reachable_sums.hpp>
#include <ration/policies/detail/whole_curves.hpp>

namespace ration::policies::detail {

/// Curves in a table: `values[j * width + k]` is the worth of job j with k devices.
struct value_table {
    double const* values = nullptr;
    std::size_t width = 0;

    [[nodiscard]] auto operator()(std::size_t j) const noexcept {
        return [row = values + j * width](std::int64_t k) noexcept { return row[k]; };
    }
};

/// The result of `allocation_dp`.
struct allocation_value {
    double worth = 0;    ///< of the given devices, added from the first job to the last
    double bound = 0;    ///< no allocation is worth more
    bool exact = false;  ///< none is worth more than this one
};

/// Chooses a number of devices for each job, so that the sum of the jobs' worth is the largest and the devices
/// suffice.
///
/// `curves(j)(k)`, k from least to most, is the worth of job j with k devices: at least 0 and finite, or `impossible`.
/// A curve can have any shape; it may fall and have gaps. Ties give the last job the fewest devices, then the last but
/// one, and so on. Values are rounded to 2^-49 of the sum of all jobs' best worth (`whole_curves`). For these values
/// the answer is exact: the same on every machine, whichever shortcuts below apply.
///
/// 1. Devices get a price: the lowest at which they suffice if each job takes its best choice. Relative to that, every
/// other choice loses something, and so does an idle device; the best allocation loses least.
/// 2. If devices suffice without a price, or choices without a loss use all devices, as with diminishing gains, that
/// is the answer: O(values), where values is the sum of (most - least + 1).
/// 3. Otherwise choices without a loss may still use all devices although they have gaps (`reachable_sums`). If not,
/// the dynamic programme (`loss_dp`) searches the least loss, among choices that lose no more than a known allocation,
/// which gives the rest to the jobs in order. It first tries a fraction of that loss. Usually few jobs and choices
/// remain; at worst O(values x devices).
class allocation_dp {
    struct standing {
        std::int64_t low = 0, high = 0;  // fewest and most devices above the least without a loss
        double best = 0;                 // worth of the job at `low`, less the price
        double next = 0;                 // the least loss above 0
        bool whole = true;               // no loss between low and high
    };

    whole_curves curves_;
    reachable_sums sums_;
    loss_dp dp_;
    buffer<standing> jobs_;
    buffer<std::int64_t> asked_;  // of the jobs in undecided_: their choice at the tested price
    buffer<std::uint32_t> undecided_;
    buffer<std::uint32_t> open_;    // the jobs that have a choice, in order
    buffer<extent> extents_;        // of their choices
    buffer<lossy_choice> choices_;  // of one of them
    std::size_t most_open_ = 0;
    std::int64_t most_devices_ = 0;
    std::int64_t spare_ = 0;  // devices above all the leasts
    double price_ = 0;        // of a device, whole

public:
    static constexpr double impossible = whole_curves::impossible;

    /// Allocates for `jobs` jobs. With more devices than `devices` the dynamic programme is not used, and no job gets
    /// more. `values` values are kept in a table; others are computed again, a few times each. The dynamic programme
    /// handles at most `open` jobs with a choice. Memory: 3/8 byte for each of these and each device, 8 bytes for each
    /// value, 150 bytes for each job, 300 for each device.
    void reserve(std::size_t jobs, std::size_t devices, std::size_t values,
                 std::size_t open = std::numeric_limits<std::size_t>::max()) noexcept {
        most_open_ = open < jobs ? open : jobs;
        curves_.reserve(jobs, devices, values);
        sums_.reserve(most_open_, devices);
        dp_.reserve(most_open_, devices);
        jobs_.reserve(jobs);
        asked_.reserve(jobs);
        undecided_.reserve(jobs);
        open_.reserve(jobs);
        extents_.reserve(jobs);
        choices_.reserve(devices + 1);
        most_devices_ = static_cast<std::int64_t>(devices);
    }

    /// Additions of the dynamic programme since `reserve`.
    [[nodiscard]] std::int64_t additions() const noexcept { return sums_.additions() + dp_.additions(); }

    /// Sets the devices of each job. The result is only near the best if the exact one needs more than `additions`.
    /// Preconditions: curves(j)(least) is possible, and the leasts of all jobs fit.
    template <class Curves>
    allocation_value solve(std::span<device_choice> jobs, std::int64_t devices, Curves const& curves,
                           std::int64_t additions = std::numeric_limits<std::int64_t>::max()) noexcept {
        spare_ = devices;
        for (auto const& j : jobs) spare_ -= j.least;
        curves_.load(jobs, spare_, curves);
        auto const row = [&](std::size_t j) noexcept { return curves_.row(j, curves); };
        find_price(row);
        bool exact = price_ == 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].given = jobs[j].least + jobs_[j].low;
        if (!exact) {
            find_losses(row);
            exact = divide_evenly(jobs) ||
                    improve(jobs, row, give_rest(jobs, row), devices <= most_devices_ ? additions : 0);
        }
        exact = exact && curves_.complete();
        double const worth = allocation_dp::worth(jobs, curves);
        return {.worth = worth, .bound = exact ? worth : bound(), .exact = exact};
    }

    /// The worth of the allocation, added from the first job to the last.
    template <class Curves>
    [[nodiscard]] static double worth(std::span<device_choice const> jobs, Curves const& curves) noexcept {
        double sum = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) sum += curves(j)(jobs[j].given);
        return sum;
    }

private:
    /// The fewest devices, from `from` to `to`, that are best when each costs `price`.
    [[nodiscard]] static std::int64_t best_at(double price, std::span<double const> row, std::int64_t from,
                                              std::int64_t to) noexcept {
        std::int64_t found = from;
        double most = row[static_cast<std::size_t>(from)] - price * static_cast<double>(from);
        for (std::int64_t x = from + 1; x <= to; ++x)
            if (double const worth = row[static_cast<std::size_t>(x)] - price * static_cast<double>(x); worth > most) {
                most = worth;
                found = x;
            }
        return found;
    }

    /// Finds the lowest whole price at which the devices suffice, and sets `low` accordingly. It starts with a sample
    /// of jobs and their share of the devices, then takes eight times as many, then all: prices of samples are close.
    template <class Row>
    void find_price(Row const& row) noexcept {
        jobs_.clear();
        for (std::size_t j = 0; j < curves_.size(); ++j) jobs_.push_back({});
        std::size_t stride = 1;
        while (jobs_.size() / stride >= 512) stride *= 8;
        for (price_ = 0; stride > 0; stride /= 8) {
            undecided_.clear();
            for (std::size_t j = 0; j < jobs_.size(); j += stride) {
                jobs_[j] = {.low = 0, .high = curves_.room(j)};
                undecided_.push_back(static_cast<std::uint32_t>(j));
            }
            price_ = price_near(row, price_, spare_ / static_cast<std::int64_t>(stride));
        }
    }

    /// Finds the lowest whole price at which the devices suffice for the undecided jobs. With a rising price each job
    /// takes less, so between two prices it takes a number between those of the two.
    template <class Row>
    [[nodiscard]] double price_near(Row const& row, double guess, std::int64_t devices) noexcept {
        // At the highest price all jobs together would pay more than they are worth.
        double low = -1, high = std::floor(std::ldexp(1, whole_curves::most_bits) /
                                           static_cast<double>(spare_ > 0 ? spare_ : 1)) +
                                1;
        for (int round = 0; high - low > 1; ++round) {
            double middle = low < 0 ? 0 : round % 2 == 1 ? chord(row) : low;
            if (round > 1 && middle >= high) middle = high - 1;  // just below it, many choices change together
            if (round < 2 && guess > 0) middle = std::floor(guess + guess * (round == 0 ? -1.0 / 32 : 1.0 / 32));
            if (!(middle > low && middle < high)) middle = std::floor((low + high) / 2);
            bool const dear = ask(row, middle) <= devices;
            (dear ? high : low) = middle;
            devices -= narrow(dear);
        }
        return high;
    }

    /// The price at which the undecided jobs gain as much by their fewest devices as by their most. If many jobs are
    /// alike, it is the answer.
    template <class Row>
    [[nodiscard]] double chord(Row const& row) const noexcept {
        double gain = 0;
        std::int64_t devices = 0;
        for (std::uint32_t const j : undecided_) {
            auto const values = row(j);
            gain += values[static_cast<std::size_t>(jobs_[j].high)] - values[static_cast<std::size_t>(jobs_[j].low)];
            devices += jobs_[j].high - jobs_[j].low;
        }
        return std::floor(gain / static_cast<double>(devices));
    }

    /// The sum of the devices that the undecided jobs take at the price.
    template <class Row>
    [[nodiscard]] std::int64_t ask(Row const& row, double price) noexcept {
        asked_.clear();
        std::int64_t sum = 0;
        for (std::uint32_t const j : undecided_) {
            priced_row const priced(row(j).data(), price);
            asked_.push_back(priced.find(priced.most(jobs_[j].low, jobs_[j].high), jobs_[j].low));
            sum += asked_.back();
        }
        return sum;
    }

    /// Bounds the choices by the tested price, and returns the devices of the jobs that are decided now.
    [[nodiscard]] std::int64_t narrow(bool dear) noexcept {
        std::int64_t decided = 0;
        std::size_t left = 0;
        for (std::size_t i = 0; i < undecided_.size(); ++i) {
            standing& s = jobs_[undecided_[i]];
            (dear ? s.low : s.high) = asked_[i];
            if (s.low == s.high)
                decided += s.low;
            else
                undecided_[left++] = undecided_[i];
        }
        undecided_.resize(left);
        return decided;
    }

    [[nodiscard]] double loss(standing const& s, std::span<double const> row, std::int64_t x) const noexcept {
        return s.best - (row[static_cast<std::size_t>(x)] - price_ * static_cast<double>(x));
    }

    template <class Row>
    void find_losses(Row const& row) noexcept {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            standing& s = jobs_[j];
            auto const values = row(j);
            priced_row const priced(values.data(), price_);
            s.best = priced.at(s.low);
            auto const lost = priced.against(s.best, values.size());
            s.next = lost.least;
            for (s.high = lost.none == 1 ? s.low : curves_.room(j); priced.at(s.high) != s.best;) --s.high;
            s.whole = lost.none == s.high - s.low + 1;
        }
    }

    /// Uses up all devices by choices that lose nothing, if that is possible and they leave no gaps.
    [[nodiscard]] bool divide_evenly(std::span<device_choice> jobs) const noexcept {
        std::int64_t most = 0, left = spare_;
        for (standing const& s : jobs_) {
            if (!s.whole) return false;
            most += s.high;
        }
        if (most < left) return false;
        for (std::size_t j = jobs.size(); j-- > 0;) {
            standing const& s = jobs_[j];
            most -= s.high;
            std::int64_t const given = left - most > s.low ? left - most : s.low;
            jobs[j].given = jobs[j].least + given;
            left -= given;
        }
        return true;
    }

    /// Gives the remaining devices to the jobs in order: first without a loss, then with any gain. Returns the loss.
    template <class Row>
    [[nodiscard]] double give_rest(std::span<device_choice> jobs, Row const& row) noexcept {
        std::int64_t left = spare_;
        for (standing const& s : jobs_) left -= s.low;
        for (std::size_t j = 0; j < jobs.size() && left > 0; ++j) {
            standing const& s = jobs_[j];
            auto const values = row(j);
            std::int64_t x = s.high < s.low + left ? s.high : s.low + left;
            while (loss(s, values, x) != 0) --x;
            jobs[j].given += x - s.low;
            left -= x - s.low;
        }
        double lost = price_ * static_cast<double>(left);
        for (std::size_t j = 0; j < jobs.size() && left > 0; ++j) {
            auto const values = row(j);
            std::int64_t const held = jobs[j].given - jobs[j].least,
                               last = static_cast<std::int64_t>(values.size()) - 1;
            std::int64_t const x = best_at(0, values, held, last < held + left ? last : held + left);
            lost -= values[static_cast<std::size_t>(x)] - values[static_cast<std::size_t>(held)];
            jobs[j].given += x - held;
            left -= x - held;
        }
        return lost;
    }

    /// Sets the jobs without a choice, and returns a function that sets the i-th job with a choice.
    [[nodiscard]] auto giver(std::span<device_choice> jobs) const noexcept {
        for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].given = jobs[j].least + jobs_[j].low;
        return
            [this, jobs](std::size_t i, std::int64_t x) noexcept { jobs[open_[i]].given = jobs[open_[i]].least + x; };
    }

    /// Finds the allocation with the least loss, given one that loses `known`. False if it needs too many additions.
    template <class Row>
    [[nodiscard]] bool improve(std::span<device_choice> jobs, Row const& row, double known,
                               std::int64_t most_additions) noexcept {
        if (most_additions <= 0) return false;
        std::int64_t const end = most_additions < std::numeric_limits<std::int64_t>::max() - additions()
                                     ? additions() + most_additions
                                     : most_additions;
        // The cheap test first: bits instead of sums.
        if (lose_nothing(jobs, row, end - additions())) return true;
        double const all = static_cast<double>(curves_.values()) * static_cast<double>(spare_ + 1);
        auto const trials = additions() + static_cast<std::int64_t>(all / 16);  // cheap beside what they may save
        for (double limit = known / 4096; additions() < end; limit *= 8) {
            bool const last = limit >= known || additions() >= trials;
            if (lose_at_most(last ? known : std::floor(limit), jobs, row,
                             (last || end < trials ? end : trials) - additions()))
                return true;
            if (last) return false;
        }
        return false;
    }

    /// Uses up all devices by choices that lose nothing, if that is possible.
    template <class Row>
    [[nodiscard]] bool lose_nothing(std::span<device_choice> jobs, Row const& row,
                                    std::int64_t most_additions) noexcept {
        std::int64_t const left = spare_ - open(0, row);
        if (open_.size() > most_open_) return false;
        auto const choices = [&](std::size_t i) noexcept { return choices_of(i, 0, row); };
        if (!sums_.find(open_.size(), left, most_additions, choices)) return false;
        sums_.trace(open_.size(), left, choices, giver(jobs));
        return true;
    }

    template <class Row>
    [[nodiscard]] bool lose_at_most(double limit, std::span<device_choice> jobs, Row const& row,
                                    std::int64_t most_additions) noexcept {
        std::int64_t const left = spare_ - open(limit, row);
        if (open_.size() > most_open_) return false;
        auto const choices = [&](std::size_t i) noexcept { return choices_of(i, limit, row); };
        if (!(dp_.least(extents_.view(), left, price_, limit, most_additions, choices) <= limit)) return false;
        dp_.trace(extents_.view(), left, choices, giver(jobs));
        return true;
    }

    /// Lists the jobs with a choice if no job may lose more than `limit`. Returns the devices of the others.
    template <class Row>
    [[nodiscard]] std::int64_t open(double limit, Row const& row) noexcept {
        open_.clear();
        extents_.clear();
        std::int64_t taken = 0;
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            standing const& s = jobs_[j];
            extent e{s.low, s.high};
            if (s.next <= limit) {
                auto const values = row(j);
                e = {0, static_cast<std::int64_t>(values.size()) - 1};
                while (loss(s, values, e.least) > limit) ++e.least;
                while (loss(s, values, e.most) > limit) --e.most;
            }
            if (e.least == e.most)
                taken += e.least;
            else {
                open_.push_back(static_cast<std::uint32_t>(j));
                extents_.push_back(e);
            }
        }
        return taken;
    }

    template <class Row>
    [[nodiscard]] std::span<lossy_choice const> choices_of(std::size_t i, double limit, Row const& row) noexcept {
        standing const& s = jobs_[open_[i]];
        auto const values = row(open_[i]);
        choices_.clear();
        for (std::int64_t x = extents_[i].least; x <= extents_[i].most; ++x)
            if (double const lost = loss(s, values, x); lost <= limit) choices_.push_back({x, lost});
        return choices_.view();
    }

    /// An upper bound of every allocation's worth.
    [[nodiscard]] double bound() const noexcept {
        double units = price_ * static_cast<double>(spare_) + static_cast<double>(jobs_.size()) / 2;
        for (standing const& s : jobs_) units += s.best;
        return units * curves_.unit();
    }
};

}  // namespace ration::policies::detail
