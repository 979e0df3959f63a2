// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
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

/// The fewest and the most devices among a job's choices.
struct extent {
    std::int64_t least = 0, most = 0;
};

/// One choice for each job, so that they take all devices and lose the least. What remains idle is taken by a job in
/// front of the first, which loses as much by each device.
///
/// L(j, k) = min over the choices c of job j of loss(c) + L(j - 1, k - devices(c)). Only those k are looked at which
/// the jobs so far can take and which the jobs to come can complete, and of these, those in between that lose at most
/// the limit. Of all L(j, .) every 32nd is kept, and the others are found again on the way back: that costs little,
/// since there it is known how many devices the jobs so far have, so that few k come into question.
///
/// Losses are whole numbers and their sums are below 2^53, so that all sums are exact. Time O(devices x choices of all
/// jobs), space O(devices x jobs / 32).
class loss_dp {
    static constexpr std::size_t stride = 32;

    struct window {
        std::int64_t first = 0, last = -1;
    };
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
    /// Later calls have at most so many jobs and devices.
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

    /// Additions since `reserve`.
    [[nodiscard]] std::int64_t additions() const noexcept { return additions_; }

    /// The least loss, when it is at most `limit`; infinite else, or when it takes more than so many additions.
    /// `choices(j)` are those of job j by ascending devices, within `jobs[j]`; each `idle` device loses so much.
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
            if (j % stride == 0) keep(checkpoints_, checkpoint_rows_);
            rest.least -= jobs[j].least;
            rest.most -= jobs[j].most;
            step(jobs[j], choices(j), {devices - rest.most, devices - rest.least}, limit);
            if (additions_ > end) return std::numeric_limits<double>::infinity();
        }
        least_ = at_.first <= devices && devices <= at_.last ? value(devices) : std::numeric_limits<double>::infinity();
        return least_;
    }

    /// The choices that lose the least: `take(j, devices)`, from the last job to the first. Of equally good ones those
    /// that give the last job the fewest devices, then the last but one, and so on. Precondition: `least` found some
    /// for the same jobs.
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

    [[nodiscard]] static extent total(std::span<extent const> jobs) noexcept {
        extent sum;
        for (extent const& j : jobs) {
            sum.least += j.least;
            sum.most += j.most;
        }
        return sum;
    }

    /// L(0, k): k devices remain idle.
    void start(std::int64_t devices, double idle, double limit, extent rest) noexcept {
        at_ = {devices - rest.most, devices - rest.least};
        if (at_.first < 0) at_.first = 0;
        if (idle * static_cast<double>(at_.last) > limit) at_.last = static_cast<std::int64_t>(limit / idle);
        for (std::int64_t k = at_.first; k <= at_.last; ++k) value(k) = idle * static_cast<double>(k);
    }

    /// From L(j - 1, .) to L(j, .), as far as `goal`.
    void step(extent of, std::span<lossy_choice const> choices, extent goal, double limit) noexcept {
        window to{at_.first + of.least, at_.last + of.most};
        if (to.first < goal.least) to.first = goal.least;
        if (to.last > goal.most) to.last = goal.most;
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

    void keep(buffer<double>& values, buffer<row>& rows) noexcept {
        rows.push_back({at_, values.size()});
        auto const size = static_cast<std::size_t>(at_.last - at_.first + 1);
        std::memcpy(values.extend(size), &value(at_.first), size * sizeof(double));
    }

    /// Finds all L(j, .) of these jobs again, as far as they lead to so many devices and this loss after the last of
    /// them.
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

    /// The choice with the fewest devices that leads from `before` to so many devices and this loss.
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
