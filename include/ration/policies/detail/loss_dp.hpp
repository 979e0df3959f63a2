// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The dynamic programme behind `allocation_dp`, for the jobs that its prices leave undecided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/policies/detail/min_plus.hpp>

namespace ration::policies::detail {

/// The fewest and the most devices among the choices of a job.
struct extent {
    std::int64_t least = 0, most = 0;
};

/// Chooses one choice for each job, so that they take all devices and lose the least. Idle devices
/// are taken by a job before the first, which loses the same for each device.
///
/// L(j, k) = min over the choices c of job j of loss(c) + L(j - 1, k - devices(c)). Only those k
/// are computed that the jobs so far can take and the later jobs can complete, and of these only
/// the range that loses at most the limit. Every 32nd row L(j, .) is kept, and the others are
/// computed again on the way back. That is cheap, since the devices of the jobs so far are known
/// there, and few k remain.
///
/// Losses are whole numbers with sums below 2^53, so all sums are exact. Time O(devices x choices
/// of all jobs), space O(devices x jobs / 32).
class loss_dp {
    static constexpr std::size_t stride = 32;

    /// A range of k.
    struct window {
        std::int64_t first = 0, last = -1;
    };
    /// A stored row: its range, and the place of its values.
    struct row {
        window at;
        std::size_t place = 0;  // of L(j, at.first)
    };

    buffer<double> now_, next_;  // L(j, k) at [k + origin_]
    buffer<double> checkpoints_, between_;
    buffer<row> checkpoint_rows_, between_rows_;
    std::int64_t origin_ = 0;
    window at_;
    double least_ = 0;
    std::int64_t additions_ = 0;

public:
    /// Allocates for this number of jobs and devices.
    void reserve(std::size_t jobs, std::size_t devices) noexcept {
        std::size_t const width = devices + 1, rows = jobs / stride + 1, block = jobs < stride ? jobs : stride;
        origin_ = static_cast<std::int64_t>(width);
        now_.resize(2 * width + min_plus_lanes);
        next_.resize(2 * width + min_plus_lanes);
        checkpoints_.reserve(rows * width);
        between_.reserve(block * width);
        checkpoint_rows_.reserve(rows);
        between_rows_.reserve(block);
    }

    /// The number of additions since `reserve`.
    [[nodiscard]] std::int64_t additions() const noexcept { return additions_; }

    /// The least loss if it is at most `limit`; otherwise, or if it needs more than `additions`,
    /// infinity. `choices(j)` are those of job j by ascending devices, within `jobs[j]`. `idle` is
    /// the loss of each idle device.
    template <class Choices>
    [[nodiscard]] double least(std::span<extent const> jobs, std::int64_t devices, double idle, double limit,
                               std::int64_t additions, Choices const& choices) noexcept {
        std::int64_t const end =
            additions < std::numeric_limits<std::int64_t>::max() - additions_ ? additions_ + additions : additions;
        checkpoints_.clear();
        checkpoint_rows_.clear();
        extent rest = total(jobs);
        start(devices, idle, limit, rest);
        for (std::size_t j = 0; j < jobs.size() && at_.first <= at_.last; ++j) {
            // Every 32nd row is kept for `trace`.
            if (j % stride == 0) keep(checkpoints_, checkpoint_rows_);
            rest.least -= jobs[j].least;
            rest.most -= jobs[j].most;
            step(jobs[j], choices(j), {devices - rest.most, devices - rest.least}, limit);
            if (additions_ > end) return std::numeric_limits<double>::infinity();
        }
        least_ = at_.first <= devices && devices <= at_.last ? value(devices) : std::numeric_limits<double>::infinity();
        return least_;
    }

    /// Reports the best choices: `take(j, devices)`, from the last job to the first. Ties give the
    /// last job the fewest devices, then the last but one, and so on. Precondition: `least` found a
    /// solution for the same jobs.
    template <class Choices, class Take>
    void trace(std::span<extent const> jobs, std::int64_t devices, Choices const& choices, Take const& take) noexcept {
        double loss = least_;
        std::size_t end = jobs.size();
        for (std::size_t block = checkpoint_rows_.size(); block-- > 0; end = block * stride) {
            std::size_t const begin = block * stride;
            repeat(jobs.subspan(begin, end - begin), begin, devices, loss, choices);
            for (std::size_t j = end; j-- > begin;) {
                lossy_choice const c = taken(between_rows_[j - begin], devices, loss, choices(j));
                take(j, c.devices);
                devices -= c.devices;
                loss -= c.loss;
            }
        }
    }

private:
    [[nodiscard]] double& value(std::int64_t k) noexcept { return now_[static_cast<std::size_t>(k + origin_)]; }

    /// The sums of the fewest and the most devices of these jobs.
    [[nodiscard]] static extent total(std::span<extent const> jobs) noexcept {
        extent sum;
        for (extent const& j : jobs) {
            sum.least += j.least;
            sum.most += j.most;
        }
        return sum;
    }

    /// Row L(0, .): k devices remain idle.
    void start(std::int64_t devices, double idle, double limit, extent rest) noexcept {
        at_ = {devices - rest.most, devices - rest.least};
        if (at_.first < 0) at_.first = 0;
        if (idle * static_cast<double>(at_.last) > limit) at_.last = static_cast<std::int64_t>(limit / idle);
        for (std::int64_t k = at_.first; k <= at_.last; ++k) value(k) = idle * static_cast<double>(k);
    }

    /// Computes L(j, .) from L(j - 1, .), within `goal`.
    void step(extent of, std::span<lossy_choice const> choices, extent goal, double limit) noexcept {
        window to{at_.first + of.least, at_.last + of.most};
        if (to.first < goal.least) to.first = goal.least;
        if (to.last > goal.most) to.last = goal.most;
        // min_plus reads beyond the last row's range, so the border has to be infinite.
        for (std::int64_t k = to.first - of.most; k < at_.first; ++k)
            value(k) = std::numeric_limits<double>::infinity();
        for (std::int64_t k = at_.last + 1; k <= to.last - of.least; ++k)
            value(k) = std::numeric_limits<double>::infinity();
        min_plus(now_.data() + origin_, next_.data() + origin_, to.first, to.last, choices);
        if (to.first <= to.last) additions_ += (to.last - to.first + 1) * static_cast<std::int64_t>(choices.size());
        now_.swap(next_);
        while (to.first <= to.last && value(to.first) > limit) ++to.first;
        while (to.first <= to.last && value(to.last) > limit) --to.last;
        at_ = to;
    }

    /// Stores the present row.
    void keep(buffer<double>& values, buffer<row>& rows) noexcept {
        rows.push_back({at_, values.size()});
        auto const size = static_cast<std::size_t>(at_.last - at_.first + 1);
        std::memcpy(values.extend(size), &value(at_.first), size * sizeof(double));
    }

    /// Computes all rows L(j, .) of these jobs again, as far as they lead to `devices` devices and
    /// this loss after the last of them.
    template <class Choices>
    void repeat(std::span<extent const> jobs, std::size_t first_job, std::int64_t devices, double loss,
                Choices const& choices) noexcept {
        extent rest = total(jobs);
        row const& from = checkpoint_rows_[first_job / stride];
        at_ = from.at;
        if (at_.first < devices - rest.most) at_.first = devices - rest.most;
        if (at_.last > devices - rest.least) at_.last = devices - rest.least;
        auto const skipped = static_cast<std::size_t>(at_.first - from.at.first),
                   size = static_cast<std::size_t>(at_.last - at_.first + 1);
        std::memcpy(&value(at_.first), checkpoints_.data() + from.place + skipped, size * sizeof(double));
        between_.clear();
        between_rows_.clear();
        for (std::size_t j = 0;; ++j) {
            keep(between_, between_rows_);
            if (j + 1 == jobs.size()) return;
            rest.least -= jobs[j].least;
            rest.most -= jobs[j].most;
            step(jobs[j], choices(first_job + j), {devices - rest.most, devices - rest.least}, loss);
        }
    }

    /// The choice with the fewest devices that leads from row `before` to this number of devices
    /// and this loss.
    [[nodiscard]] lossy_choice taken(row const& before, std::int64_t devices, double loss,
                                     std::span<lossy_choice const> choices) const noexcept {
        double const* const values = between_.data() + before.place;
        for (lossy_choice const& c : choices) {
            std::int64_t const k = devices - c.devices;
            if (k >= before.at.first && k <= before.at.last && values[k - before.at.first] + c.loss == loss) return c;
        }
        RATION_ASSERT(false, "no choice leads to the best sum");
        return {};
    }
};

}  // namespace ration::policies::detail
