// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The choices of one job of `elastic_batch_dp`: its scaling, its bounds and its batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/job.hpp>
#include <ration/policies/detail/allocation_dp.hpp>

namespace ration::policies::detail {

/// The scaling of one job, restricted to counts that the job accepts and the node has.
struct job_profile {
    std::span<double const> speedup;      // by number of devices
    std::span<std::int64_t const> batch;  // by number of devices: the best batch
    bounds devices, batches;              // accepted by the job
    bool batch_is_granted = false;        // otherwise the job chooses it

    /// A job that accepts only the batch 0 chooses its own.
    job_profile(std::span<double const> speedups, std::span<std::int64_t const> best_batch,
                bounds const& wanted_devices, bounds const& wanted_batches) noexcept
        : speedup(speedups), batch(best_batch), devices(wanted_devices), batches(wanted_batches),
          batch_is_granted(wanted_batches.maximum > 0) {
        if (!batch_is_granted) batches = {0, 0};
        if (batch_is_granted && batches.minimum < 1) batches.minimum = 1;
    }

    /// The batch at k devices; 0 if it is not granted.
    [[nodiscard]] std::int64_t batch_at(std::int64_t k) const noexcept {
        return batch_is_granted ? batch[static_cast<std::size_t>(k)] : 0;
    }
    /// True if the batch is within the bounds.
    [[nodiscard]] bool accepts_batch(std::int64_t b) const noexcept {
        return b >= batches.minimum && b <= batches.maximum && b <= max_amount;
    }
    /// True if devices and batch are within the bounds.
    [[nodiscard]] bool accepts(std::int64_t k, std::int64_t b) const noexcept {
        return k >= devices.minimum && k <= devices.maximum && accepts_batch(b);
    }

    /// The speed-up at k devices, or `impossible`.
    [[nodiscard]] double at(std::int64_t k) const noexcept {
        double const f = speedup[static_cast<std::size_t>(k)];
        return f > 0 && f <= std::numeric_limits<double>::max() && accepts_batch(batch_at(k))
                   ? f
                   : allocation_dp::impossible;
    }

    /// The smallest and the largest possible number of devices, with `capacity` devices on the
    /// node; both 0 if there is none. O(1) if all numbers are possible.
    [[nodiscard]] device_choice choice(std::int64_t capacity) const noexcept {
        auto const width = static_cast<std::int64_t>(speedup.size() < batch.size() ? speedup.size() : batch.size());
        device_choice c{.least = within(devices.minimum, {1, unlimited}),
                        .most = within(devices.maximum, {0, capacity < width - 1 ? capacity : width - 1})};
        while (c.least <= c.most && !(at(c.least) > 0)) ++c.least;
        while (c.least <= c.most && !(at(c.most) > 0)) --c.most;
        return c.least <= c.most ? c : device_choice{};
    }
};

}  // namespace ration::policies::detail
