// SPDX-License-Identifier: BSL-1.0
/// Containers whose phases repeat, from a seed. The numbers are this project's; AI4DL (HotCloud 2020) publishes four
/// containers, and their loads, epochs and saves look like these.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ration/sim/generator.hpp>
#include <ration/sim/phase_model.hpp>

namespace ration::sim {

/// The phases of a container that loads, prepares, then trains and saves several times. `between(a, b)` draws a whole
/// number, and `add(periods, cores, bytes, noise)` gets each phase.
template <class Between, class Add>
void draw_container(Between between, Add add) {
    add(between(3, 12), 0.1, 100e6, 0.05);
    add(between(10, 30), 0.8, 600e6, 0.05);
    for (std::uint32_t epochs = between(4, 10); epochs > 0; --epochs) {
        add(between(25, 50), 2.0, 1500e6, 0.05);
        add(between(2, 5), 0.5, 2600e6, 0.1);
    }
    add(between(3, 8), 0.3, 1500e6, 0.05);
}

/// Containers on processors whose phases repeat: all of one class, each with its own size, from 0.8 to 1.2 times the
/// usual one. A restart takes 30 s.
[[nodiscard]] inline workload make_phased(generator_options const& o) {
    workload made = detail::empty_workload("phases", o);
    made.tenants.emplace_back("default");
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        rng const thrown(o.seed, 1000 + j);
        std::uint64_t draws = 0;
        double const size = std::fma(0.4, thrown.uniform(draws++), 0.8);
        std::vector<usage_phase> phases;
        draw_container(
            [&](std::uint32_t least, std::uint32_t most) { return least + thrown.below(most - least + 1, draws++); },
            [&](std::uint32_t periods, double cores, double bytes, double noise) {
                phases.push_back({periods * phase_model::period, cores * size, bytes * size, noise});
            });
        auto model = std::make_shared<phase_model const>(std::move(phases), thrown.bits(draws));
        job_description& job = made.jobs[j];
        job.request = job.least = job.most = 0;
        job.length = model->length();
        job.restart_cost = 30;
        job.model = static_cast<std::uint32_t>(made.models.size());
        made.models.push_back(std::move(model));
        made.model_names.emplace_back("phases");
    }
    return made;
}

}  // namespace ration::sim
