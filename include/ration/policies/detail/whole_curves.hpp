// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Rounded values for `allocation_dp`, so that its answer does not depend on the order of
/// additions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/priced_row.hpp>

namespace ration::policies::detail {

/// The bounds of one job in a division, from `least` to `most` devices, and its result.
struct device_choice {
    std::int64_t least = 0, most = 0, given = 0;
};

/// The curves of all jobs in whole units, so that their sums are exact in any order.
///
/// The unit is a power of two, and all jobs together are worth less than 2^49 units at their best.
/// Rounding changes a value by at most half a unit, the error that a plain sum of that many doubles
/// has as well.
class whole_curves {
    static constexpr std::size_t not_kept = std::numeric_limits<std::size_t>::max();
    struct curve {
        std::int64_t least = 0;
        std::size_t size = 0, place = not_kept;  // of its values in kept_
    };

    buffer<curve> curves_;
    buffer<double> kept_, passing_;
    double units_ = 1;  // number of units in 1
    std::int64_t values_ = 0;
    bool complete_ = true;
    std::int64_t longest_ = 0;

public:
    /// Bits of the largest sum.
    static constexpr int most_bits = 49;
    /// A value below 0: an impossible number of devices.
    static constexpr double impossible = -1;

    /// Allocates for this number of jobs; `values` values are kept, and others are computed again
    /// when needed.
    void reserve(std::size_t jobs, std::size_t devices, std::size_t values) noexcept {
        curves_.reserve(jobs);
        kept_.reserve(values + priced_row::grain);
        passing_.resize(padded(devices + 1));
        longest_ = static_cast<std::int64_t>(devices);
    }

    /// Reads the curves; `curves(j)(k)` is the worth of job j with k devices. No job is given more
    /// than `spare` devices above its least.
    template <class Curves>
    void load(std::span<device_choice const> jobs, std::int64_t spare, Curves const& curves) noexcept {
        curves_.clear();
        kept_.clear();
        double sum = 0;
        values_ = 0;
        complete_ = true;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            std::int64_t const most = jobs[j].most - jobs[j].least, of_use = most < spare ? most : spare;
            complete_ = complete_ && of_use <= longest_;
            curve c{.least = jobs[j].least,
                    .size = static_cast<std::size_t>(of_use < longest_ ? of_use : longest_) + 1};
            if (kept_.capacity() - kept_.size() >= padded(c.size)) c.place = kept_.size();
            double* const values = c.place == not_kept ? passing_.data() : kept_.extend(padded(c.size));
            read(curves(j), c, values);
            // Scaled down, so that the sum never overflows
            sum += priced_row(values, 0).most(0, static_cast<std::int64_t>(c.size) - 1) * 0x1p-64;
            values_ += static_cast<std::int64_t>(c.size);
            curves_.push_back(c);
        }
        choose_unit(sum);
        round(kept_.edit());
    }

    /// The worth of the job, in units, with its least devices, one more, two more ...; minus
    /// infinity for impossible numbers. Valid until the next call.
    template <class Curves>
    [[nodiscard]] std::span<double const> row(std::size_t j, Curves const& curves) noexcept {
        curve const& c = curves_[j];
        if (c.place != not_kept) return {kept_.data() + c.place, c.size};
        read(curves(j), c, passing_.data());
        round({passing_.data(), padded(c.size)});
        return {passing_.data(), c.size};
    }

    /// The number of jobs.
    [[nodiscard]] std::size_t size() const noexcept { return curves_.size(); }
    /// The number of devices above its least that the job can have.
    [[nodiscard]] std::int64_t room(std::size_t j) const noexcept {
        return static_cast<std::int64_t>(curves_[j].size) - 1;
    }
    /// False if a curve was cut off because `reserve` had no space for it.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    /// The number of values of all curves.
    [[nodiscard]] std::int64_t values() const noexcept { return values_; }
    /// The worth of one unit.
    [[nodiscard]] double unit() const noexcept { return 1 / units_; }

private:
    [[nodiscard]] static constexpr std::size_t padded(std::size_t size) noexcept {
        return (size + priced_row::grain - 1) / priced_row::grain * priced_row::grain;
    }

    template <class Curve>
    static void read(Curve const& worth, curve const& c, double* values) noexcept {
        for (std::size_t x = 0; x < c.size; ++x) values[x] = worth(c.least + static_cast<std::int64_t>(x));
        for (std::size_t x = c.size; x < padded(c.size); ++x) values[x] = impossible;
    }

    /// Chooses the unit so that the sum of the best values is below 2^49 units.
    void choose_unit(double sum) noexcept {
        int exponent = 0;
        static_cast<void>(std::frexp(sum, &exponent));
        exponent = most_bits - (exponent + 64);
        units_ = sum > 0 ? std::ldexp(1, exponent < 1000 ? exponent : 1000) : 1;
    }

    /// Rounds values to whole units.
    void round(std::span<double> values) const noexcept {
        constexpr double no_fraction = 0x1.8p52;  // at this magnitude doubles are whole
        for (double& v : values) {
            double const units = (v * units_ + no_fraction) - no_fraction;
            v = v >= 0 ? units : -std::numeric_limits<double>::infinity();
        }
    }
};

}  // namespace ration::policies::detail
