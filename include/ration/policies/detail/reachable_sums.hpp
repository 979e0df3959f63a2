// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A subset-sum test with bits, for `allocation_dp`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/policies/detail/min_plus.hpp>

namespace ration::policies::detail {

/// Chooses one choice for each job, so that they take exactly a given number of devices, whatever
/// the choices lose.
///
/// The numbers of devices that the first j jobs can take are a row of bits; one addition handles 64
/// sums. Time O(devices x choices of all jobs / 64), space O(devices x jobs / 64).
class reachable_sums {
    static constexpr std::size_t bits = 64;

    buffer<std::uint64_t> rows_;  // [job][word]: before the job
    std::size_t words_ = 0;       // in a row
    std::int64_t additions_ = 0;

public:
    /// Allocates for this number of jobs and devices.
    void reserve(std::size_t jobs, std::size_t devices) noexcept { rows_.reserve((jobs + 1) * (devices / bits + 1)); }

    /// The number of additions since `reserve`.
    [[nodiscard]] std::int64_t additions() const noexcept { return additions_; }

    /// Returns true if there is such a choice for each job, found within `additions`. `choices(j)`
    /// are those of job j.
    template <class Choices>
    [[nodiscard]] bool find(std::size_t jobs, std::int64_t devices, std::int64_t additions,
                            Choices const& choices) noexcept {
        words_ = static_cast<std::size_t>(devices) / bits + 1;
        rows_.reset((jobs + 1) * words_);
        rows_[0] = 1;
        for (std::size_t j = 0; j < jobs; ++j)
            for (lossy_choice const& c : choices(j)) {
                add(j, static_cast<std::size_t>(c.devices));
                additions_ += static_cast<std::int64_t>(words_);
                additions -= static_cast<std::int64_t>(words_);
                if (additions < 0) return false;
            }
        return has(jobs, devices);
    }

    /// Reports the choices: `take(j, devices)`, from the last job to the first. They give the last
    /// job the fewest devices, then the last but one, and so on. `choices(j)` by ascending devices.
    /// Precondition: `find` returned true for the same jobs.
    template <class Choices, class Take>
    void trace(std::size_t jobs, std::int64_t devices, Choices const& choices, Take const& take) const noexcept {
        for (std::size_t j = jobs; j-- > 0;) {
            std::int64_t const given = taken(j, devices, choices(j));
            take(j, given);
            devices -= given;
        }
    }

private:
    /// True if the first j jobs can take exactly `sum` devices.
    [[nodiscard]] bool has(std::size_t j, std::int64_t sum) const noexcept {
        return sum >= 0 &&
               (rows_[j * words_ + static_cast<std::size_t>(sum) / bits] >> (static_cast<std::size_t>(sum) % bits) &
                1) != 0;
    }

    /// Records that job j can take `devices` devices on top of the sums before it.
    void add(std::size_t j, std::size_t devices) noexcept {
        std::uint64_t const* const from = rows_.data() + j * words_;
        std::uint64_t* const to = rows_.data() + (j + 1) * words_;
        std::size_t const whole = devices / bits, part = devices % bits;
        if (whole >= words_) return;
        if (part == 0) {
            for (std::size_t w = whole; w < words_; ++w) to[w] |= from[w - whole];
            return;
        }
        to[whole] |= from[0] << part;
        for (std::size_t w = whole + 1; w < words_; ++w)
            to[w] |= from[w - whole] << part | from[w - whole - 1] >> (bits - part);
    }

    /// The choice of job j with the fewest devices that leads to the sum.
    [[nodiscard]] std::int64_t taken(std::size_t j, std::int64_t devices,
                                     std::span<lossy_choice const> choices) const noexcept {
        for (lossy_choice const& c : choices)
            if (has(j, devices - c.devices)) return c.devices;
        RATION_ASSERT(false, "no choice leads to the sum");
        return 0;
    }
};

}  // namespace ration::policies::detail
