// SPDX-License-Identifier: BSL-1.0
/// The estimator `speed` with one part of the estimate replaced by the exact value: how much each missing piece of
/// information costs. For `bench.sim estimates`; no host has the exact values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ration/estimators/speed.hpp>
#include <ration/job_memory.hpp>
#include <ration/sim/workload.hpp>

namespace ration::bench {

/// The part of a job's speeds that is exact.
enum class exact_part : std::uint8_t {
    none,
    unmeasured,  ///< all speeds until the first measurement
    measured,    ///< those on the numbers of devices that were measured, as the job progresses
    up_to_most,  ///< those up to the most devices that were measured
    beyond,      ///< the ratio of the speeds on more devices than were measured to that on the most that were
    shape,       ///< all ratios; the newest measurement gives the scale
    first_shape  ///< the same at the start of the job
};

/// See the file. `inner` estimates what is not exact. Nodes are of one type.
class partly_exact_speed {
public:
    using estimator_concept = estimator_tag;
    using inputs = estimators::speed::inputs;
    using outputs = estimators::speed::outputs;
    static constexpr meta about{.id = "ration.bench.partly-exact-speed", .version = "1.0.0"};

    /// `jobs` outlives the object; `devices`: of a node.
    partly_exact_speed(sim::workload const& jobs, std::int64_t devices, exact_part part)
        : jobs_(&jobs), devices_(devices), part_(part) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        histories_.reserve(most.jobs);
        return inner_.prepare(most);
    }

    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        inner_.estimate(t, to);
        auto const ids = t.get<"jobs/id">();
        histories_.follow(ids);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            see(t, row);
            auto const goodput = to.get<"jobs/goodput">()[row];
            replace(ids[row], static_cast<double>(t.get<"jobs/step">()[row]), histories_[row], goodput);
            std::ranges::copy(goodput, to.get<"jobs/goodput.fixed">()[row].begin());
            auto const first = std::ranges::find_if(goodput, [](double v) { return v > 0; });
            double const least = static_cast<double>(first - goodput.begin());
            for (std::size_t k = 0; k < goodput.size(); ++k)
                to.get<"jobs/speedup">()[row][k] = first == goodput.end() ? 0 : goodput[k] / *first * least;
        }
    }

private:
    sim::workload const* jobs_;
    std::int64_t devices_;
    exact_part part_;
    estimators::speed inner_;
    job_memory<estimators::detail::speed_history> histories_;
    std::vector<double> exact_, fixed_;
    std::vector<std::int64_t> batch_;

    void see(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const held = t.get<"jobs/held.gpu">()[row];
        bool const is_made = static_cast<double>(held) == t.get<"jobs/used.gpu">()[row];
        histories_[row].see({.now = t.now(),
                             .step = t.get<"jobs/step">()[row],
                             .devices = is_made ? held : 0,
                             .per_second = t.get<"jobs/measured_steps_per_second">()[row],
                             .attained = t.get<"jobs/attained">()[row],
                             .most = t.get<"jobs/max.gpu">()[row]});
    }

    /// Replaces the part in the estimated speeds of a job.
    void replace(std::uint64_t id, double step, estimators::detail::speed_history const& job,
                 std::span<double> speeds) noexcept {
        show(id, part_ == exact_part::first_shape ? 0 : step, speeds.size());
        auto const points = job.points();
        if (part_ == exact_part::unmeasured && points.empty()) std::ranges::copy(exact_, speeds.begin());
        if (points.empty()) return;
        auto const most = static_cast<std::size_t>(points.back().devices);
        std::vector<double> const estimated(speeds.begin(), speeds.end());
        auto const beyond = [&](double on_most, std::vector<double> const& as) {
            for (std::size_t k = most + 1; k < speeds.size(); ++k) speeds[k] = on_most * as[k] / as[most];
        };
        switch (part_) {
            case exact_part::measured: join(points, speeds); return beyond(exact_[most], estimated);
            case exact_part::up_to_most:
                std::copy_n(exact_.begin(), most + 1, speeds.begin());
                return beyond(exact_[most], estimated);
            case exact_part::beyond: return beyond(estimated[most], exact_);
            case exact_part::shape:
            case exact_part::first_shape: return scale(points, speeds);
            default: return;
        }
    }

    void show(std::uint64_t id, double step, std::size_t counts) {
        for (auto* const v : {&exact_, &fixed_}) v->assign(counts, 0);
        batch_.assign(counts, 0);
        auto const& job = jobs_->jobs[id - 1];
        jobs_->models[job.model]->show(job, step, 0, devices_, {exact_, fixed_, batch_});
    }

    /// Straight lines through the exact speeds on the measured numbers of devices.
    void join(std::span<estimators::detail::speed_point const> points, std::span<double> speeds) const noexcept {
        std::size_t from = 0;
        for (auto const& p : points) {
            auto const to = static_cast<std::size_t>(p.devices);
            double const below = from > 0 ? exact_[from] : 0,
                         each = (exact_[to] - below) / static_cast<double>(to - from);
            for (std::size_t k = from + 1; k <= to; ++k) speeds[k] = below + each * static_cast<double>(k - from);
            from = to;
        }
    }

    void scale(std::span<estimators::detail::speed_point const> points, std::span<double> speeds) const noexcept {
        auto const newest =
            *std::ranges::max_element(points, {}, [](estimators::detail::speed_point const& p) { return p.last; });
        double const one = exact_[static_cast<std::size_t>(newest.devices)];
        for (std::size_t k = 0; k < speeds.size(); ++k) speeds[k] = one > 0 ? exact_[k] / one * newest.per_second : 0;
    }
};

static_assert(Estimator<partly_exact_speed>);

}  // namespace ration::bench
