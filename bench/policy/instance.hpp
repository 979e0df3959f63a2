// SPDX-License-Identifier: BSL-1.0
// Problems of allocation: jobs, their curves, and the devices that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ration/policies/detail/allocation_dp.hpp>

namespace policy_bench {

/// How many devices one job may have at most, and the values in a row of a table.
inline constexpr std::size_t most = 64, width = most + 1;

/// The shape of the curves.
enum class shape : std::uint8_t {
    arbitrary,    ///< any value from 0 to the number of devices, and gaps
    groups,       ///< only whole groups of 1 to 8 devices gain anything
    diminishing,  ///< concave
    /// speed-ups of the six applications measured for Pollux, each at its best batch, in some phase of its training
    measured,
    mixed,  ///< one in twenty like groups, the others diminishing
    /// Each second number is worth its devices, the others half: no choice is worse than others, and all have gaps
    stubborn
};
inline constexpr shape shapes[] = {shape::arbitrary, shape::groups, shape::diminishing,
                                   shape::measured,  shape::mixed,  shape::stubborn};
[[nodiscard]] std::string_view name_of(shape s);

/// Values are whole multiples of 2^-20, as of a profile with six digits, so that a plain sum of doubles is exact, too,
/// and answers can be compared device by device. `least` is 0 or 1.
struct instance {
    std::size_t jobs = 0;
    std::int64_t devices = 0, least = 0;
    std::vector<double> values;  // [job * width + devices]; below 0: impossible

    instance(shape like, std::size_t number_of_jobs, std::int64_t number_of_devices, std::int64_t least_devices,
             std::uint32_t seed);
    [[nodiscard]] ration::policies::detail::value_table table() const { return {values.data(), width}; }
    [[nodiscard]] double worth(std::span<std::int64_t const> given) const;

private:
    void draw(shape like, std::uint32_t seed);
    void take_measured(std::uint32_t seed);
};

}  // namespace policy_bench
