// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The common part of `good_enough` and `pollux`: an exact division by goodput, and batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/allocation_dp.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policies/detail/speed.hpp>

namespace ration::policies::detail {

/// The columns of jobs with a goodput, and those that a policy adds.
template <class... More>
using goodput_columns = elastic_columns<in_rows<double, "jobs/goodput">, in_rows<std::int64_t, "jobs/batch">,
                                        in<std::int64_t, "jobs/held.batch">, in<std::int64_t, "jobs/min.batch">,
                                        in<std::int64_t, "jobs/max.batch">, in<std::uint32_t, "nodes/type">, More...>;

/// Grants each share with devices its best batch, if the job accepts it. A job that chooses its own batch accepts 0
/// only.
template <class Tick>
[[nodiscard]] status choose_batches(Tick const& t, std::span<share const> shares, std::uint16_t reason,
                                    grants& out) noexcept {
    auto const batch = t.template get<"jobs/batch">();
    auto const held = t.template get<"jobs/held.batch">();
    auto const least = t.template get<"jobs/min.batch">(), most = t.template get<"jobs/max.batch">();
    for (auto const& s : shares) {
        auto const devices = static_cast<std::size_t>(s.given);
        std::int64_t const best = devices > 0 && devices < batch.width() ? batch[s.row][devices] : 0;
        bool const is_accepted = best > 0 && best <= max_amount && best >= least[s.row] && best <= most[s.row];
        if (!is_accepted || best == held[s.row]) continue;
        if (!hold_on(t, s.row, 0, resource_id::batch, best, reason, out)) return status::capacity;
    }
    return status::ok;
}

/// Elastic jobs whose devices are divided exactly by a value for each number of devices, and that
/// get the best batch for them.
class goodput_jobs {
    elastic_jobs jobs_;
    allocation_dp dp_;
    buffer<device_choice> choices_;
    std::span<share> shares_;
    vector_column<double> goodput_;
    std::span<std::int64_t const> held_;

    // Enough for the largest published clusters; memory grows with both.
    static constexpr std::size_t most_devices = 16'384, values_per_job = 65;

public:
    /// Allocates for the largest tables, and at most `most_devices` devices.
    void reserve(limits const& most) noexcept {
        jobs_.reserve(most);
        std::size_t const jobs = most.jobs < most_devices ? most.jobs : most_devices;
        dp_.reserve(jobs, most_devices, jobs * values_per_job);
        choices_.reserve(jobs);
    }

    /// As in `elastic_jobs`.
    template <class Tick>
    [[nodiscard]] bool is_due(Tick const& t, double interval, bool at_changes) noexcept {
        return jobs_.is_due(t, interval, at_changes);
    }

    /// The jobs that can run, without devices yet, in the order of submission.
    template <class Tick>
    [[nodiscard]] std::span<share> list(Tick const& t) noexcept {
        goodput_ = t.template get<"jobs/goodput">();
        held_ = t.template get<"jobs/held.gpu">();
        std::int64_t const widest = widest_of(goodput_.width(), t.template get<"nodes/type">());
        shares_ = jobs_.list(t, [&](std::size_t) noexcept { return widest; });
        return shares_;
    }
    /// The devices that can be divided.
    [[nodiscard]] std::int64_t devices() const noexcept { return jobs_.devices(); }
    /// The goodput of a job by its devices, in steps/s.
    [[nodiscard]] speed_curve goodput(share const& s) const noexcept { return {goodput_[s.row]}; }

    /// Divides the devices so that the sum of the jobs' worth is the largest. `worth(share,
    /// goodput, held)` returns the job's curve, a function of the devices that is above 0 where the
    /// job runs. A job without devices is worth 0. Sums need finite values: a worth beyond all of them counts as the
    /// largest, and one that is not a number as 0.
    template <class Worth>
    void divide(Worth const& worth) noexcept {
        choices_.clear();
        for (auto const& s : shares_) choices_.push_back({.least = 0, .most = s.most});
        static_cast<void>(dp_.solve(choices_.edit(), jobs_.devices(), [&](std::size_t j) noexcept {
            share const& s = shares_[j];
            speed_curve const speed = goodput(s);
            return [curve = worth(s, speed, held_[s.row]), speed, least = s.least](std::int64_t k) noexcept {
                if (k == 0) return 0.0;
                if (k < least || !(speed.at(k) > 0)) return allocation_dp::impossible;
                double const worth_of_k = curve(k), most = std::numeric_limits<double>::max();
                return !(worth_of_k > 0) ? 0 : worth_of_k < most ? worth_of_k : most;
            };
        }));
        for (std::size_t j = 0; j < choices_.size(); ++j) shares_[j].given = choices_[j].given;
    }

    /// Writes the grants of the devices and of the batches.
    template <class Tick>
    [[nodiscard]] status apply(Tick const& t, grants& out) noexcept {
        if (auto const placed = jobs_.apply_afresh(t, out); placed != status::ok) return placed;
        return choose_batches(t, shares_, elastic_jobs::its_share, out);
    }

    /// As in `elastic_jobs`.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// As in `elastic_jobs`.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }
};

}  // namespace ration::policies::detail
