// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The distribution of service behind the index of `gittins`.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// The service of the last jobs, and the Gittins index that follows from it. Service is counted in
/// quanta.
class service_distribution {
    buffer<double> seen_;  // in the order of arrival; once it is full, the oldest is at `oldest_`
    buffer<double> sorted_;
    buffer<double> index_;  // by whole quanta attained; empty = has to be computed
    std::size_t oldest_ = 0;

public:
    /// Jobs that are remembered, and quanta for which an index is computed.
    static constexpr std::size_t most = 512, most_quanta = 4096;

    /// Allocates for all of them.
    void reserve() noexcept {
        seen_.reserve(most);
        sorted_.reserve(most + 1);
        index_.reserve(most_quanta);
    }
    /// Forgets all jobs.
    void clear() noexcept {
        seen_.clear();
        sorted_.clear();
        index_.clear();
        oldest_ = 0;
    }
    /// The number of jobs that are remembered.
    [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }
    /// The service of the k-th job, the oldest first.
    [[nodiscard]] double operator[](std::size_t k) const noexcept { return seen_[(oldest_ + k) % seen_.size()]; }

    /// Adds the service of a job, in device-seconds. O(`most`).
    void add(double service) noexcept {
        if (seen_.size() == most) {
            std::size_t const place = place_of(seen_[oldest_]);
            sorted_.erase(place, place + 1);
            seen_[oldest_] = service;
            oldest_ = (oldest_ + 1) % most;
        } else {
            seen_.push_back(service);
        }
        sorted_.insert(place_of(service), service);
        index_.clear();
    }

    /// The index: the probability that a job which has attained this service ends within another
    /// quantum, divided by its mean service in that quantum; in 1/quantum. It is 0 if no job had
    /// that much service. O(1); after an arrival O(`most` + quanta).
    [[nodiscard]] double index(double attained, double quantum) noexcept {
        if (index_.empty()) make_index(quantum);
        double const quanta = attained / quantum;
        return quanta < static_cast<double>(index_.size()) ? index_[static_cast<std::size_t>(quanta > 0 ? quanta : 0)]
                                                           : 0;
    }

private:
    /// The index of a service in the sorted list.
    [[nodiscard]] std::size_t place_of(double service) const noexcept {
        std::size_t low = 0, high = sorted_.size();
        while (low < high) {
            std::size_t const middle = low + (high - low) / 2;
            if (sorted_[middle] < service)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /// Computes the index for each number of whole quanta, in one pass over the sorted services.
    void make_index(double quantum) noexcept {
        std::size_t first = 0, last = 0;  // of those that end within this quantum
        while (first < sorted_.size() && index_.size() < most_quanta) {
            double const from = static_cast<double>(index_.size()) * quantum, to = from + quantum;
            double within = 0;
            for (; last < sorted_.size() && sorted_[last] <= to; ++last) within += (sorted_[last] - from) / quantum;
            auto const ends = static_cast<double>(last - first);
            index_.push_back(ends / (within + static_cast<double>(sorted_.size() - last)));
            first = last;
        }
        if (index_.empty()) index_.push_back(0);
    }
};

}  // namespace ration::policies::detail
