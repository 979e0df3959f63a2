// SPDX-License-Identifier: BSL-1.0
/// A job on processors whose use of CPU and memory changes from phase to phase, as AI4DL (HotCloud 2020) found it in
/// containers that train.
///
/// Traces give the phases in the column `phases`, and `make_phased` draws them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/model.hpp>
#include <ration/sim/rng.hpp>

namespace ration::sim {

/// One phase of a job.
struct usage_phase {
    double seconds = 0;  ///< with all cores that it can use
    double cores = 0, bytes = 0;
    /// Standard deviation of the cores, as a share of them. That of the bytes is a fifth of it. Both are drawn again
    /// every `phase_model::period` seconds.
    double noise = 0;
};

/// Each step is a second with the cores that the job can use then. With fewer cores it is slower in proportion.
class phase_model final : public job_model {
    std::vector<usage_phase> phases_;
    std::vector<double> ends_;  // steps up to the end of each phase
    rng noise_;
    std::uint32_t class_;
    cpu_demand most_;

public:
    /// Seconds for which a demand with noise holds: that between two samples of AI4DL's containers, by the median.
    static constexpr double period = 20;
    /// Seconds ahead for which `phase_at` has the largest demand.
    static constexpr double horizon = 60;
    /// Limits of the phases that `phases_in` reads: their number, and the seconds of all of them.
    static constexpr std::size_t most_phases = 1000;
    static constexpr double most_seconds = 30.0 * 24 * 3600;
    /// Limit of the seconds with noise in a trace, as the constructor draws all of their demands.
    static constexpr double most_noisy_seconds = 1e8;

    /// `seed` is that of the noise, and `kind` the class. Pre: there are phases; their seconds, cores and bytes are
    /// above 0, and their noise is from 0 to 1. O(phases + seconds with noise / `period`).
    phase_model(std::vector<usage_phase> phases, std::uint64_t seed, std::uint32_t kind = 0)
        : phases_(std::move(phases)), noise_(seed), class_(kind) {
        for (auto const& one : phases_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + one.seconds);
        most_ = most_from(0, length());
    }

    /// Reads "60:0.1:1e8 400:2:1.5e9:0.05": seconds, cores, bytes, and the noise if there is some. None if a number is
    /// not from 1 to 2592000 seconds, 0.01 to 10000 cores, 1 to 1e15 bytes and a noise from 0 to 1; if there are more
    /// than `most_phases`; or if their seconds together are more than `most_seconds`. O(text).
    [[nodiscard]] static std::optional<std::vector<usage_phase>> phases_in(std::string_view text) {
        std::vector<usage_phase> out;
        double seconds = 0;
        while (!text.empty() && out.size() < most_phases) {
            std::string_view word = text.substr(0, text.find(' '));
            text.remove_prefix(std::min(word.size() + 1, text.size()));
            usage_phase one;
            if (!take_number(word, 1, most_seconds, one.seconds) || !take_number(word, 0.01, 1e4, one.cores) ||
                !take_number(word, 1, 1e15, one.bytes) || (!word.empty() && !take_number(word, 0, 1, one.noise)) ||
                !word.empty())
                return std::nullopt;
            seconds += one.seconds;
            out.push_back(one);
        }
        bool const fits = text.empty() && !out.empty() && seconds <= most_seconds;
        return fits ? std::optional(std::move(out)) : std::nullopt;
    }

    /// The seconds of the phases with noise. O(phases).
    [[nodiscard]] static double noisy_seconds(std::vector<usage_phase> const& phases) noexcept {
        double sum = 0;
        for (auto const& one : phases) sum += one.noise > 0 ? one.seconds : 0;
        return sum;
    }

    /// The phases as in a trace.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& one : phases_) {
            for (double const value : {one.seconds, one.cores, one.bytes, one.noise}) {
                char digits[32];
                out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr) += ':';
            }
            out.back() = ' ';
        }
        if (!out.empty()) out.pop_back();
        return out;
    }
    /// The steps of a job with these phases.
    [[nodiscard]] double length() const noexcept { return ends_.back(); }

    /// The speed, which holds as long as the demand.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        double const wanted = demand(job, step).cores;
        double const part = held.cores < wanted ? std::max(held.cores, 0.0) / wanted : 1;
        return {.steps_per_second = held.slowest * part, .until = end_at(step)};
    }
    /// Shows a goodput of 0 for every number of devices.
    void show(job_description const&, double, std::uint32_t, std::int64_t, scaling const& out) const noexcept override {
        for (auto const& column : {out.goodput, out.goodput_fixed}) std::fill(column.begin(), column.end(), 0.0);
        std::fill(out.batch.begin(), out.batch.end(), 0);
    }
    /// The cores of the largest demand.
    [[nodiscard]] double cores(job_description const&) const noexcept override { return most_.cores; }
    [[nodiscard]] cpu_demand demand(job_description const&, double step) const noexcept override {
        return demand_at(step);
    }
    [[nodiscard]] cpu_demand most_demand(job_description const&) const noexcept override { return most_; }
    [[nodiscard]] bool has_phases() const noexcept override { return true; }
    /// O(phases within the horizon + log phases).
    [[nodiscard]] known_phase phase_at(job_description const&, double step) const noexcept override {
        return {.kind = class_,
                .number = static_cast<std::uint32_t>(index_at(step)),
                .ahead = most_from(step, std::min(step + horizon, length()))};
    }

private:
    /// The phase of a step; the last one from the end on.
    [[nodiscard]] std::size_t index_at(double step) const noexcept {
        auto const after = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), step) - ends_.begin());
        return std::min(after, ends_.size() - 1);
    }
    /// The step at which the demand of this step ends; infinity from the last step on.
    [[nodiscard]] double end_at(double step) const noexcept {
        if (!(step < length())) return std::numeric_limits<double>::infinity();
        std::size_t const i = index_at(step);
        return phases_[i].noise > 0 ? std::min(ends_[i], (std::floor(step / period) + 1) * period) : ends_[i];
    }
    [[nodiscard]] cpu_demand demand_at(double step) const noexcept {
        usage_phase const& phase = phases_[index_at(step)];
        if (!(phase.noise > 0)) return {phase.cores, phase.bytes};
        auto const number = static_cast<std::uint64_t>(step / period);
        auto const factor = [&](double noise, std::uint64_t index) {
            return std::max(0.1, std::fma(noise, noise_.normal(index), 1.0));
        };
        return {phase.cores * factor(phase.noise, 2 * number), phase.bytes * factor(phase.noise / 5, 2 * number + 1)};
    }
    /// The largest demand of two steps and between them.
    [[nodiscard]] cpu_demand most_from(double step, double last) const noexcept {
        cpu_demand most = demand_at(step);
        for (step = end_at(step); step < last; step = end_at(step)) {
            cpu_demand const next = demand_at(step);
            most = {std::max(most.cores, next.cores), std::max(most.bytes, next.bytes)};
        }
        return most;
    }

    /// Takes the number before the next colon.
    [[nodiscard]] static bool take_number(std::string_view& from, double least, double most, double& into) noexcept {
        std::string_view const digits = from.substr(0, from.find(':'));
        auto const [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
        bool const is_whole = !digits.empty() && failed == std::errc{} && end == digits.data() + digits.size();
        bool const has_next = digits.size() < from.size();
        from.remove_prefix(digits.size() + has_next);
        return is_whole && into >= least && into <= most && !(has_next && from.empty());
    }
};

}  // namespace ration::sim
