// SPDX-License-Identifier: BSL-1.0
/// speed: how fast a job is on each number of devices, from the speeds that were measured on those that it had.
///
/// For policies that read `jobs/goodput`, `jobs/goodput.fixed` or `jobs/speedup` on a host that only measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/estimator.hpp>
#include <ration/estimators/detail/speed_history.hpp>
#include <ration/job_memory.hpp>

namespace ration::estimators {

/// The speeds of a job are straight lines through those that were measured. Each further device, up to twice the most
/// that were measured, adds 0.6 times the speed of a measured one; more devices make it no faster. So policies try more
/// devices, step by step, as in Pollux (OSDI 2021), which assumes perfect scaling there. Before any measurement a job
/// is as fast on one device as the fastest job per device: policies that prefer short jobs start it, and so measure it.
/// Without any such job, that is 1 step/s.
///
/// A job that has held the same devices for 10 min without a step, and has never run on as many, may be unable to run
/// there. If it has run on fewer, its speed there is at most one step in this time. Otherwise its speed is 0 there and
/// on fewer, unless it cannot have more.
///
/// A `jobs/speedup.given`, such as the list of a jobs file, is used instead, scaled to the measured speeds. It is not
/// given if no entry is above 0.
///
/// All types of nodes get the same speeds. The batch is that of the measurement: `jobs/goodput` equals
/// `jobs/goodput.fixed`, since no host measures how much a larger batch teaches. Steps of different batches count as
/// equal.
///
/// O(jobs x devices). State: 0.3 KB for each job.
class speed {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads.
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint64_t, "jobs/step">,
                           in<double, "jobs/measured_steps_per_second">, in<std::int64_t, "jobs/held.gpu">,
                           in<std::int64_t, "jobs/max.gpu">, in<double, "jobs/used.gpu">, in<double, "jobs/attained">,
                           in_rows<double, "jobs/speedup.given">>;
    /// The columns that `estimate` writes.
    using outputs = columns<out_rows<double, "jobs/goodput">, out_rows<double, "jobs/goodput.fixed">,
                            out_rows<double, "jobs/speedup">>;
    /// Identity of the estimator.
    static constexpr meta about{
        .id = "ration.speed", .version = "1.0.0", .summary = "speed by number of devices, from the measured speeds"};

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the three columns.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        double const fastest = see(t, static_cast<std::int64_t>(to.get<"jobs/speedup">().width()) - 1);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            auto const speedup = to.get<"jobs/speedup">()[row];
            double const one = write(jobs_[row], t.get<"jobs/speedup.given">()[row], fastest, speedup);
            spread(one, speedup, to.get<"jobs/goodput">()[row]);
            spread(one, speedup, to.get<"jobs/goodput.fixed">()[row]);
        }
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    job_memory<detail::speed_history> jobs_;

    /// Takes the measurements of all jobs, which can have at most `widest` devices. Returns the highest speed per
    /// device; 1 if there is none.
    [[nodiscard]] double see(tick<inputs> const& t, std::int64_t widest) noexcept {
        double fastest = 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t const held = t.get<"jobs/held.gpu">()[row], most = t.get<"jobs/max.gpu">()[row];
            double const attained = t.get<"jobs/attained">()[row];
            // While a change of the devices is made, the job still runs on the former ones.
            bool const is_made = static_cast<double>(held) == t.get<"jobs/used.gpu">()[row];
            jobs_[row].see({.now = t.now(),
                            .step = t.get<"jobs/step">()[row],
                            .devices = is_made ? held : 0,
                            .per_second = t.get<"jobs/measured_steps_per_second">()[row],
                            .attained = attained > 0 && attained < 1e15 ? attained : 0,
                            .most = most < widest ? most : widest});
            for (auto const& p : jobs_[row].points())
                if (double const each = p.per_second / static_cast<double>(p.devices); each > fastest) fastest = each;
        }
        return fastest > 0 ? fastest : 1;
    }

    /// Writes the speedups of a job, and returns its speed where they are 1.
    [[nodiscard]] static double write(detail::speed_history const& job, std::span<double const> given, double fastest,
                                      std::span<double> speedup) noexcept {
        double most = 0;
        for (double const value : given) most = value > most ? value : most;
        if (most > 0) {
            for (std::size_t k = 0; k < speedup.size(); ++k) speedup[k] = k < given.size() ? given[k] : 0;
            return speed_per_speedup(job, given, fastest);
        }
        auto const least = static_cast<std::size_t>(job.too_few()) + 1;
        if (job.points().empty() || least >= speedup.size()) {
            for (std::size_t k = 0; k < speedup.size(); ++k) speedup[k] = k >= least ? 1 : 0;
            return fastest;
        }
        job.show(speedup);
        double const one = speedup[least] / static_cast<double>(least);
        for (double& value : speedup) value /= one;
        return one;
    }

    /// The mean over the measured numbers of devices.
    [[nodiscard]] static double speed_per_speedup(detail::speed_history const& job, std::span<double const> given,
                                                  double otherwise) noexcept {
        double sum = 0, points = 0;
        for (auto const& p : job.points()) {
            auto const k = static_cast<std::size_t>(p.devices);
            if (k >= given.size() || !(given[k] > 0) || p.measurements == 0) continue;
            sum += p.per_second / given[k];
            points += 1;
        }
        return points > 0 ? sum / points : otherwise;
    }

    /// `to` has a row of speeds for each type of nodes.
    static void spread(double one, std::span<double const> speedup, std::span<double> to) noexcept {
        std::size_t k = 0;
        for (double& value : to) {
            value = one * speedup[k];
            k = k + 1 < speedup.size() ? k + 1 : 0;
        }
    }
};

static_assert(Estimator<speed>);

}  // namespace ration::estimators
