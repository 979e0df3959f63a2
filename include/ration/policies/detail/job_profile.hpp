// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/job.hpp>
#include <ration/policies/detail/allocation_dp.hpp>

namespace ration::policies::detail {

/// How one job scales, and what of that it accepts and its node has.
struct job_profile {
    std::span<double const> speedup;      // [devices]
    std::span<std::int64_t const> batch;  // [devices]: the best one
    bounds devices, batches;              // what the job accepts
    std::int64_t batch_capacity = 0;      // of the node; 0: the host leaves the batch to the job

    [[nodiscard]] std::int64_t batch_at(std::int64_t k) const noexcept {
        return batch_capacity > 0 ? batch[static_cast<std::size_t>(k)] : 0;
    }
    [[nodiscard]] bool accepts_batch(std::int64_t b) const noexcept {
        if (batch_capacity <= 0) return b == 0;
        return b > 0 && b <= batch_capacity && b >= batches.minimum && b <= batches.maximum;
    }
    [[nodiscard]] bool accepts(std::int64_t k, std::int64_t b) const noexcept {
        return k >= devices.minimum && k <= devices.maximum && accepts_batch(b);
    }

    /// The speed-up at so many devices, or `impossible`.
    [[nodiscard]] double at(std::int64_t k) const noexcept {
        double const f = speedup[static_cast<std::size_t>(k)];
        return is_finite(f) && f > 0 && accepts_batch(batch_at(k)) ? f : allocation_dp::impossible;
    }

    /// The smallest and the largest possible number of devices, on a node that has so many; both 0 when there is none.
    [[nodiscard]] device_choice choice(std::int64_t capacity) const noexcept {
        auto const width = static_cast<std::int64_t>(speedup.size() < batch.size() ? speedup.size() : batch.size());
        std::int64_t const most = within(devices.maximum, {0, capacity < width - 1 ? capacity : width - 1});
        device_choice c;
        for (std::int64_t k = within(devices.minimum, {1, unlimited}); k <= most; ++k)
            if (at(k) > 0) c.least = c.least == 0 ? k : c.least, c.most = k;
        return c;
    }
};

}  // namespace ration::policies::detail
