// SPDX-License-Identifier: BSL-1.0
/// What one component of a run keeps of each job.
#pragma once

#include <cstddef>
#include <vector>

#include "run/live_job.hpp"

namespace ration::program {

/// One value for each job of a run. The component that has it is the only one that changes it.
template <class T>
class per_job {
    std::vector<T> values_;

public:
    explicit per_job(std::size_t jobs) : values_(jobs) {}

    [[nodiscard]] T& operator[](live_job const& job) noexcept { return values_[job.row]; }
    [[nodiscard]] T const& operator[](live_job const& job) const noexcept { return values_[job.row]; }
    /// By row of the jobs table.
    [[nodiscard]] std::vector<T> const& values() const noexcept { return values_; }
};

}  // namespace ration::program
