// SPDX-License-Identifier: BSL-1.0
/// Values that one component of a run keeps for each job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/live_job.hpp"

namespace ration::program {

/// One value for each slot of the job table. The component that has it is the only one that changes it. A job begins
/// with `T{}`, also in the slot of an earlier job.
template <class T>
class per_job {
    std::vector<T> values_;
    std::vector<std::uint64_t> owners_;  // ids; 0: no owner yet

public:
    explicit per_job(std::size_t slots) : values_(slots), owners_(slots) {}

    [[nodiscard]] T& operator[](live_job const& job) {
        if (owners_[job.slot] != job.id.value) {
            std::destroy_at(&values_[job.slot]);  // some have no assignment
            std::construct_at(&values_[job.slot]);
            owners_[job.slot] = job.id.value;
        }
        return values_[job.slot];
    }
    [[nodiscard]] T const& operator[](live_job const& job) const {
        static T const blank{};
        return owners_[job.slot] == job.id.value ? values_[job.slot] : blank;
    }
    /// By slot.
    [[nodiscard]] std::vector<T> const& values() const noexcept { return values_; }
};

}  // namespace ration::program
