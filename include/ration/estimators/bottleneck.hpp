// SPDX-License-Identifier: BSL-1.0
/// bottleneck: the resource for which a job waits, from its speed, its use of CPU and the time in which a limit stops
/// it.
///
/// For hosts that advise users, and for policies that give a job no more of a resource that does not make it faster.
/// Source: S. Li, R. J. Walls and T. Guo, "Characterizing and Modeling Distributed Training with Transient Cloud GPU
/// Servers" (CM-DARE), ICDCS 2020.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/estimator.hpp>
#include <ration/estimators/detail/speed_windows.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/units.hpp>

namespace ration::estimators {

using detail::bottleneck_kind;
using detail::bottleneck_kinds;

/// A window has 7 measurements, each from one further step to the next. Its median is compared with the expected value,
/// and a bottleneck counts if two windows in a row show the same one. It ends likewise. A change of the devices or of
/// the CPU limit starts another window.
///
/// - `throttled`: its upper bound `jobs/max.cpu` stops the job for more than a tenth of the time. A lower limit is
///   the choice of a policy, not a bottleneck of the job. The limit of CPU devices is not one either, as each job on
///   them uses all of it.
/// - `exchange`: on several devices it is slower than 0.9 of their sum. A device has the speed that was measured with
///   the fewest devices. The speed is in samples where the job reports its batch, which may grow with the devices. If
///   each device uses less CPU than there and the machine has none to spare, the job waits for CPU.
/// - `input`: without devices it uses less than 0.9 of the cores that it could use: one, or the most that it has used,
///   within its limit. The machine has the rest to spare.
///
/// O(jobs). State: 0.4 KB for each job.
class bottleneck {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads. `jobs/workers`: devices in use. `jobs/batch.reported`: samples per step over
    /// all of them, 0 if unknown.
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint64_t, "jobs/step">,
                in<double, "jobs/used.cpu">, in<std::int64_t, "jobs/held.cpu">, in<std::int64_t, "jobs/max.cpu">,
                in<double, "jobs/throttled.cpu">, in<std::int64_t, "jobs/workers">,
                in<std::int64_t, "jobs/batch.reported">, in<std::int64_t, "nodes/capacity.cpu">>;
    /// The columns that `estimate` writes: a `bottleneck_kind`.
    using outputs = columns<out<std::uint32_t, "jobs/bottleneck">>;
    /// Identity of the estimator.
    static constexpr meta about{.id = "ration.bottleneck",
                                .version = "1.0.0",
                                .summary = "what a job waits for: exchange, input or its own CPU limit"};

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes `jobs/bottleneck`.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        double const spare = spare_cpu(t);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            bool const runs = static_cast<job_state>(t.get<"jobs/state">()[row]) == job_state::running;
            if (runs)
                jobs_[row].take(
                    {t.now(), t.get<"jobs/step">()[row], samples(t, row)},
                    {0, t.get<"jobs/used.cpu">()[row], t.get<"jobs/throttled.cpu">()[row], spare},
                    {t.get<"jobs/workers">()[row], t.get<"jobs/held.cpu">()[row], t.get<"jobs/max.cpu">()[row]});
            auto const present = runs ? jobs_[row].present() : bottleneck_kind::none;
            to.get<"jobs/bottleneck">()[row] = static_cast<std::uint32_t>(present);
        }
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    job_memory<detail::speed_windows> jobs_;

    /// Samples of a step; 1 if they are unknown.
    [[nodiscard]] static double samples(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const batch = t.get<"jobs/batch.reported">()[row];
        return static_cast<double>(batch > 0 ? batch : 1);
    }

    /// Millicores that no job uses, on all nodes.
    [[nodiscard]] static double spare_cpu(tick<inputs> const& t) noexcept {
        double spare = 0;
        for (auto const capacity : t.get<"nodes/capacity.cpu">()) spare += static_cast<double>(capacity);
        for (double const used : t.get<"jobs/used.cpu">()) spare -= used;
        return spare;
    }
};

static_assert(Estimator<bottleneck>);

}  // namespace ration::estimators
