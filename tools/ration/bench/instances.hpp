// SPDX-License-Identifier: BSL-1.0
/// Small problems whose best answers are known, because every answer there is has been tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/measured_cluster.hpp"

namespace ration::bench {

/// The value of an answer. More is better, except for `completion`.
enum class objective : std::uint8_t {
    speedup,    ///< sum of the jobs' speed-ups, each over itself on one device or core
    fairness,   ///< the smallest speed-up of a job
    targets,    ///< sum of the speed-ups of the jobs that have not reached their Acceptable tier
    completion  ///< mean time until a job of a batch is done, in slots
};
inline constexpr std::size_t objective_count = 4;

struct objective_note {
    std::string_view name, meaning;
};
inline constexpr std::array<objective_note, objective_count> objective_notes{{
    {"speedup", "sum of the jobs' speed-ups"},
    {"fairness", "the smallest speed-up of a job"},
    {"targets", "sum of the speed-ups of the jobs below Acceptable"},
    {"completion", "mean time until a job of a batch is done"},
}};

/// The objective that a policy of this id is made for; `objective_count` for another purpose or an unknown id.
[[nodiscard]] std::size_t objective_of(std::string_view id) noexcept;

/// Seconds between two questions, and the unit of completion times; a power of two, so that work adds up exactly.
/// Longer than any policy waits.
inline constexpr double slot = 4096;

/// Jobs on one node. Lengths are in steps, and a slot on k devices is `speed[k] * slot` of them, a whole number.
struct instance {
    std::int64_t units = 0;  ///< devices or cores, at least one for each job
    std::vector<measured_job> jobs;
};

inline constexpr std::size_t instance_count = 16;

/// Three or four jobs on nearly twice as many devices or cores. None adds more than the first; of some jobs on devices
/// a later one adds more than an earlier one, on cores none does.
[[nodiscard]] std::vector<instance> instances_of(std::uint64_t seed, shared what);

/// The best that there is for each objective by itself. On cores, which can be divided, there is none for `completion`:
/// 0.
using values = std::array<double, objective_count>;
[[nodiscard]] values best_of(instance const& of, shared what);

}  // namespace ration::bench
