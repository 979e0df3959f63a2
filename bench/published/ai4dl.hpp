// SPDX-License-Identifier: BSL-1.0
// Limits of CPU and memory from phases, beside a limit that follows the last window. Source: J. L. Berral, C. Wang,
// A. Youssef, "AI4DL: Mining Behaviors of Deep Learning Workloads for Resource Management", HotCloud 2020; containers:
// bench/data/ai4dl, from the authors' repository, and made-up ones.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ration/estimators/phase_fit.hpp>
#include <ration/sim/phase_generator.hpp>
#include <ration/sim/rng.hpp>

#include "csv.hpp"
#include "findings.hpp"

namespace published {
namespace ai4dl {

using namespace ration;
using estimators::usage_sample;
using container = std::vector<usage_sample>;
using demand = double usage_sample::*;

/// Containers whose limits are compared, each with the phases of others.
struct comparison {
    struct subject {
        estimators::phase_model model;
        container tested;
    };
    std::vector<subject> subjects;
    double window = 0;  ///< seconds for which a limit holds
    double met = 0;     ///< part of the samples whose demand is within the limit
};

/// What the limit of a window follows.
enum class rule : std::uint8_t {
    reactive,  ///< the largest demand of the last window
    phases,    ///< the 0.9-quantile that the phase at its beginning expects
    larger     ///< the larger one of the two, as the policy phase_limits does
};

/// The limit of one window without a margin, and the samples in it.
struct limited_window {
    double limit = 0;
    std::vector<double> demands;
};

/// The samples of each window that has some, as [first, last).
[[nodiscard]] inline std::vector<std::pair<std::size_t, std::size_t>> windows_of(container const& c, double window) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    auto const number = [&](std::size_t i) { return std::floor((c[i].at - c[0].at) / window); };
    for (std::size_t i = 0; i < c.size(); ++i)
        if (i == 0 || number(i) != number(i - 1))
            all.emplace_back(i, i + 1);
        else
            all.back().second = i + 1;
    return all;
}

/// The limit without a margin of the window that begins with sample `next`.
[[nodiscard]] inline double limit_at(container const& c, std::pair<std::size_t, std::size_t> last, rule by, demand of,
                                     estimators::phase_model const& model) {
    double reactive = 0;
    for (std::size_t i = last.first; i < last.second; ++i) reactive = std::max(reactive, c[i].*of);
    std::size_t const next = last.second;
    if (by == rule::reactive || next < estimators::phase_window) return reactive;
    estimators::usage_window seen;
    std::copy_n(c.begin() + static_cast<std::ptrdiff_t>(next - seen.size()), seen.size(), seen.begin());
    auto const& phase = model.phases.at(model.phase_of(seen));
    double const expected = (of == &usage_sample::cpu ? phase.cpu : phase.memory)[estimators::expected_quantile];
    return by == rule::phases ? expected : std::max(reactive, expected);
}

[[nodiscard]] inline std::vector<limited_window> limits_of(comparison const& all, rule by, demand of) {
    std::vector<limited_window> out;
    for (auto const& one : all.subjects) {
        auto const windows = windows_of(one.tested, all.window);
        for (std::size_t w = 1; w < windows.size(); ++w) {
            limited_window& to = out.emplace_back();
            to.limit = std::max(limit_at(one.tested, windows[w - 1], by, of, one.model), 1e-3);
            for (std::size_t i = windows[w].first; i < windows[w].second; ++i) to.demands.push_back(one.tested[i].*of);
        }
    }
    return out;
}

/// What a rule allocates with the least margin that meets its part of the demand, over what an oracle allocates that
/// has the largest demand of each window.
[[nodiscard]] inline double allocated(comparison const& all, rule by, demand of) {
    auto const windows = limits_of(all, by, of);
    std::vector<double> factors;  // of its limit, that each sample needs
    double limits = 0, oracle = 0;
    for (auto const& w : windows) {
        auto const samples = static_cast<double>(w.demands.size());
        limits += w.limit * samples;
        oracle += *std::max_element(w.demands.begin(), w.demands.end()) * samples;
        for (double const d : w.demands) factors.push_back(d / w.limit);
    }
    std::sort(factors.begin(), factors.end());
    auto const needed = static_cast<std::size_t>(std::ceil(all.met * static_cast<double>(factors.size())));
    return std::max(1.0, factors.at(needed - 1)) * limits / oracle;
}

/// The three rules on one resource.
struct outcome {
    double reactive = 0, phases = 0, larger = 0;
    [[nodiscard]] double ratio() const noexcept { return larger / reactive; }
};
[[nodiscard]] inline outcome outcome_of(comparison const& all, demand of) {
    return {allocated(all, rule::reactive, of), allocated(all, rule::phases, of), allocated(all, rule::larger, of)};
}

[[nodiscard]] inline std::vector<container> containers_of(std::string const& file) {
    std::vector<container> all;
    std::string name;
    for (auto const& row : rows_of_csv(file)) {
        if (all.empty() || row.at(0) != name) all.emplace_back();
        name = row.at(0);
        all.back().push_back(
            {.at = std::stod(row.at(1)), .cpu = 1000 * std::stod(row.at(2)), .memory = std::stod(row.at(3))});
    }
    return all;
}

[[nodiscard]] inline estimators::phase_model phases_of(std::vector<container> const& learned, double window) {
    return estimators::fit_phases(learned, {.horizon = window});
}

/// Each container by the phases of the others.
[[nodiscard]] inline comparison each_by_the_others(std::vector<container> const& all, double window) {
    comparison c{.subjects = {}, .window = window, .met = 0.95};
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto others = all;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        c.subjects.push_back({phases_of(others, window), all[i]});
    }
    return c;
}
/// The second half of a container by its first half.
[[nodiscard]] inline comparison halves(container const& all, double window) {
    auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    comparison c{.subjects = {}, .window = window, .met = 0.95};
    c.subjects.push_back({phases_of({container(all.begin(), middle)}, window), container(middle, all.end())});
    return c;
}

/// Makes containers that load, then train and save several times, with a sample each 20 s.
class container_maker {
    sim::rng random_;
    std::uint64_t index_ = 0;

public:
    explicit container_maker(std::uint64_t seed) noexcept : random_(seed) {}

    [[nodiscard]] container make() {
        container made;
        double const scale = 0.8 + 0.4 * random_.uniform(index_++);
        sim::draw_container([this](std::uint32_t least, std::uint32_t most) { return between(least, most); },
                            [&](std::uint32_t periods, double cores, double bytes, double noise) {
                                for (; periods > 0; --periods) {
                                    double const cpu = 1000 * cores * scale * (1 + noise * random_.normal(index_++));
                                    double const memory = bytes * scale * (1 + noise / 5 * random_.normal(index_++));
                                    made.push_back({.at = sim::phase_model::period * static_cast<double>(made.size()),
                                                    .cpu = std::max(10.0, cpu),
                                                    .memory = std::max(1e6, memory)});
                                }
                            });
        return made;
    }
    /// The measurements in random order, at the same times.
    void shuffle(container& c) noexcept {
        for (std::size_t left = c.size(); left > 1; --left) {
            auto const other = random_.below(static_cast<std::uint32_t>(left), index_++);
            std::swap(c[left - 1].cpu, c[other].cpu);
            std::swap(c[left - 1].memory, c[other].memory);
        }
    }

private:
    [[nodiscard]] std::uint32_t between(std::uint32_t least, std::uint32_t most) noexcept {
        return least + random_.below(most - least + 1, index_++);
    }
};

/// 20 containers by the phases of 8 others.
[[nodiscard]] inline comparison made_up(std::uint64_t seed, double met, bool shuffled) {
    container_maker maker(seed);
    std::vector<container> all;
    for (int i = 0; i < 28; ++i) {
        all.push_back(maker.make());
        if (shuffled) maker.shuffle(all.back());
    }
    auto const model = phases_of({all.begin(), all.begin() + 8}, 600);
    comparison c{.subjects = {}, .window = 600, .met = met};
    for (std::size_t i = 8; i < all.size(); ++i) c.subjects.push_back({model, all[i]});
    return c;
}

}  // namespace ai4dl
}  // namespace published
