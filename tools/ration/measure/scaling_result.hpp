// SPDX-License-Identifier: BSL-1.0
/// The figures of `ration measure scaling`: the speed of one job by its number of devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ration::program {

/// One launch of the job.
struct measured_launch {
    double steps_per_second = 0;
    std::uint64_t batch = 0;  ///< samples of a step over all ranks; 0: unknown
};

struct measured_size {
    std::int64_t devices = 0;
    std::vector<measured_launch> launches{};  ///< by round
    std::string failure{};                    ///< why it has no speed; empty: it has one
    std::string note{};                       ///< a doubt about the measurement, as a sentence; may be empty

    [[nodiscard]] bool measured() const noexcept { return failure.empty() && !launches.empty(); }
};

struct scaling_result {
    std::string file, job;
    std::int64_t most = 0;             ///< devices that the job can have on this machine
    std::vector<measured_size> sizes;  ///< in ascending order; those that were measured have equally many launches
};

[[nodiscard]] bool has_failure(scaling_result const& all) noexcept;
/// Whether the speedup compares samples per second: all launches have a batch, and two sizes have different ones.
/// Otherwise it compares steps per second.
[[nodiscard]] bool compares_samples(scaling_result const& all) noexcept;
/// The size that the speedup counts from, the smallest measured one: its speedup is its number of devices, as that of
/// one device is 1. Null: no size was measured.
[[nodiscard]] measured_size const* base_of(scaling_result const& all) noexcept;
/// Mean over the rounds of speed / speed of the base in the same round, times the devices of the base: drift of the
/// machine from round to round cancels out. Pre: `of` was measured.
[[nodiscard]] double speedup_of(scaling_result const& all, measured_size const& of) noexcept;
/// The value of the key `speedup`: by number of devices, from 0 to `most`; 0 for each number without a measurement.
/// Empty if no size was measured.
[[nodiscard]] std::vector<double> speedup_list(scaling_result const& all);

}  // namespace ration::program
