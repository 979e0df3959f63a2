// SPDX-License-Identifier: BSL-1.0
/// Measures every policy in every cluster and on every small problem, and keeps the results of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/quality.hpp"
#include "common/diagnostics.hpp"
#include "config/config.hpp"

namespace ration::bench {

using program::bench_options;
using program::run_config;

/// One policy of the command line.
struct contender {
    std::string name;         ///< as on the command line
    std::string id, version;  ///< as it calls itself
    std::string label;        ///< what tables call it: its name, or its file's
    bool is_plugin = false;
    shared what = shared::devices;  ///< that it shares out
    std::string left_out;           ///< why it is not measured, as a sentence; then the fields below mean nothing
    std::string ended;              ///< why it was not asked any more, as a sentence
    std::vector<measured> of;       ///< by cluster; those after its end are empty
    reached solved;
};

/// Small problems and their best answers.
struct problem_set {
    std::vector<instance> all;
    std::vector<values> best;
};

struct results {
    bench_options options;
    std::vector<cluster_case> cases;
    std::vector<contender> policies;
    problem_set on_devices, on_cores;

    [[nodiscard]] problem_set const& problems_of(contender const& c) const noexcept {
        return c.what == shared::devices ? on_devices : on_cores;
    }
};

/// Gets the number of finished steps, the number of all steps, and a name for the next one.
using progress_of_runs = std::function<void(std::size_t done, std::size_t all, std::string const& next)>;

/// If the command line is wrong, `problems` gets diagnostics and nothing is measured.
[[nodiscard]] results run_all(bench_options const& options, progress_of_runs const& emit,
                              program::diagnostics& problems);

/// `share_of_best` for each problem.
[[nodiscard]] std::vector<double> qualities(results const& all, contender const& c, objective what);

/// Whether it broke a rule, gave no answer or had to be ended.
[[nodiscard]] bool went_wrong(contender const& c) noexcept;
/// One sentence for each thing that did not go well.
[[nodiscard]] std::vector<std::string> remarks_on(contender const& c);

}  // namespace ration::bench
