// SPDX-License-Identifier: BSL-1.0
/// phases: in which phase of its life a job is, and the CPU and memory that it will need soon.
///
/// For policies that set limits, on a host that measures usage and has learned models (phase_fit.hpp) of earlier jobs
/// of the same class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <ration/estimator.hpp>
#include <ration/estimators/phase_model.hpp>
#include <ration/estimators/usage_sampler.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>

namespace ration::estimators {

/// Every period of its class's model, a job's use becomes a sample. The newest four samples are its window, and the
/// nearest of the model's centres is its phase. The expected CPU and memory are the 0.9-quantiles of what earlier jobs
/// used within the model's horizon after such a window. So a demand that begins with a later phase, such as that of a
/// save, is expected before it begins.
///
/// Unknown, which is `no_phase` and NaN, before the first four samples, and for a class without a model. A change of
/// the use is a measurement; without one the estimate stays. Source: AI4DL (HotCloud 2020), as in phase_model.hpp.
///
/// O(jobs), and O(phases) for a job at the end of its period. State: 0.2 KB for each job.
class phases {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads.
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/class">,
                in<double, "jobs/used.cpu">, in<double, "jobs/used.memory">, in<double, "jobs/throttled.cpu">>;
    /// The columns that `estimate` writes.
    using outputs = columns<out<std::uint32_t, "jobs/phase">, out<double, "jobs/expected.cpu">,
                            out<double, "jobs/expected.memory">>;
    /// Identity of the estimator.
    static constexpr meta about{.id = "ration.phases",
                                .version = "1.0.0",
                                .summary = "the phase of a job, and the CPU and memory that it will need soon"};

    /// Without models everything is unknown.
    phases() = default;
    /// The models of the classes: `jobs/class` is an index. Precondition: each `is_valid()`.
    explicit phases(std::vector<phase_model> models) noexcept : models_(std::move(models)) {}

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the three columns.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::uint32_t const kind = t.get<"jobs/class">()[row];
            phase_model const* const model = kind < models_.size() ? &models_[kind] : nullptr;
            bool const runs = static_cast<job_state>(t.get<"jobs/state">()[row]) == job_state::running;
            if (model != nullptr && runs)
                jobs_[row].take({.now = t.now(),
                                 .cpu = t.get<"jobs/used.cpu">()[row],
                                 .memory = t.get<"jobs/used.memory">()[row],
                                 .throttled = t.get<"jobs/throttled.cpu">()[row]},
                                *model);
            std::uint32_t const phase = jobs_[row].phase;
            bool const is_known = model != nullptr && phase < model->count;
            to.get<"jobs/phase">()[row] = is_known ? phase : no_phase;
            to.get<"jobs/expected.cpu">()[row] = is_known ? model->phases[phase].cpu[expected_quantile] : unknown;
            to.get<"jobs/expected.memory">()[row] = is_known ? model->phases[phase].memory[expected_quantile] : unknown;
        }
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    /// A sample of the window, for saved state.
    struct kept_sample {
        double cpu = 0, memory = 0;
        static auto fields(auto& self) noexcept { return std::tie(self.cpu, self.memory); }
        [[nodiscard]] bool sane() const noexcept { return is_finite(cpu) && is_finite(memory); }
    };
    /// The newest samples of a job.
    struct job_usage {
        usage_sampler sampler;
        std::array<kept_sample, phase_window> newest{};  // the last one is the newest
        std::uint32_t samples = 0;                       // at most phase_window
        std::uint32_t phase = no_phase;

        void take(usage_measurement const& m, phase_model const& model) noexcept {
            usage_sample sample;
            if (!sampler.take(m, model.period, sample)) return;
            for (std::size_t i = 1; i < newest.size(); ++i) newest[i - 1] = newest[i];
            newest.back() = {sample.cpu, sample.memory};
            if (samples < phase_window) ++samples;
            if (samples < phase_window) return;
            usage_window window{};
            for (std::size_t i = 0; i < window.size(); ++i) {
                window[i].cpu = newest[i].cpu;
                window[i].memory = newest[i].memory;
            }
            phase = model.phase_of(window);
        }
        static auto fields(auto& self) noexcept {
            return std::tie(self.sampler, self.newest, self.samples, self.phase);
        }
        [[nodiscard]] bool sane() const noexcept { return samples <= phase_window; }
    };

    std::vector<phase_model> models_;
    job_memory<job_usage> jobs_;
};

static_assert(Estimator<phases>);

}  // namespace ration::estimators
