// SPDX-License-Identifier: BSL-1.0
#pragma once
// One problem of the allocation, and whether an answer to it is sound.
#include <cstdint>
#include <vector>

#include <ration/policies/detail/allocation_dp.hpp>

#include "numbers.hpp"

namespace unit {

using ration::policies::detail::allocation_dp;
using ration::policies::detail::allocation_value;
using ration::policies::detail::device_choice;

using counts = std::vector<std::int64_t>;

struct problem {
    std::int64_t devices = 0;
    std::vector<device_choice> jobs;
    std::vector<std::vector<double>> gains;  // [job][devices]

    [[nodiscard]] double gain(std::size_t j, std::int64_t k) const { return gains[j][static_cast<std::size_t>(k)]; }
    [[nodiscard]] auto curves() const {
        return [this](std::size_t j) {
            return [&row = gains[j]](std::int64_t k) { return row[static_cast<std::size_t>(k)]; };
        };
    }
    [[nodiscard]] allocation_value solve(allocation_dp& dp) { return dp.solve(jobs, devices, curves()); }
    [[nodiscard]] double worth() const { return allocation_dp::worth(jobs, curves()); }
    [[nodiscard]] counts given() const {
        counts all;
        for (auto const& j : jobs) all.push_back(j.given);
        return all;
    }
    [[nodiscard]] bool is_sound() const {
        std::int64_t sum = 0;
        bool sound = true;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            sum += jobs[j].given;
            sound =
                sound && jobs[j].given >= jobs[j].least && jobs[j].given <= jobs[j].most && gain(j, jobs[j].given) >= 0;
        }
        return sound && sum <= devices;
    }
    /// No job gains by the devices that are left over.
    [[nodiscard]] bool is_exhausted() const {
        std::int64_t left = devices;
        for (auto const& j : jobs) left -= j.given;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            for (std::int64_t k = jobs[j].given; k <= jobs[j].most && k <= jobs[j].given + left; ++k)
                if (gain(j, k) > gain(j, jobs[j].given)) return false;
        return true;
    }
    void multiply(double by) {
        for (auto& row : gains)
            for (double& g : row) g *= g >= 0 ? by : 1;
    }
};

}  // namespace unit
