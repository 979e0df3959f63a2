// SPDX-License-Identifier: BSL-1.0
/// The columns of a run that no one measures, and what computes them.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/estimators/bottleneck.hpp>
#include <ration/estimators/duration.hpp>
#include <ration/estimators/nominal_speed.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/estimator_stage.hpp>

#include "policies/plugin_policy.hpp"
#include "run/event_sink.hpp"

namespace ration::program {

/// The job table declares these columns, and leaves them to estimators. The last one is estimated from device-seconds
/// only.
inline constexpr std::array<std::string_view, 9> estimated_columns{"jobs/nominal_steps_per_second",
                                                                   "jobs/remaining",
                                                                   "jobs/speedup",
                                                                   "jobs/goodput",
                                                                   "jobs/goodput.fixed",
                                                                   "jobs/phase",
                                                                   "jobs/expected.cpu",
                                                                   "jobs/expected.memory",
                                                                   "jobs/total_steps"};

/// Read by the program, for advice to the user.
inline constexpr std::array<std::string_view, 1> wanted_columns{"jobs/bottleneck"};

/// The properties of a host on which its estimators depend.
struct estimated_host {
    bool has_devices = false;
    bool measures_use = true;  ///< of CPU by jobs, which `bottleneck` compares
};

/// The estimators of one run.
class live_estimators {
    estimator_adapter<estimators::remaining> remaining_;
    estimator_adapter<estimators::nominal_speed> nominal_speed_;
    estimator_adapter<estimators::speed> speed_;
    estimator_adapter<estimators::phases> phases_;
    estimator_adapter<estimators::bottleneck> bottleneck_;
    estimator_adapter<estimators::duration> duration_;
    std::vector<any_estimator*> all_;
    estimator_stage stage_;
    std::span<std::unique_ptr<any_estimator> const> from_files_;

    [[nodiscard]] std::vector<any_estimator*> all(estimated_host of,
                                                  std::span<std::unique_ptr<any_estimator> const> from_files) {
        std::vector<any_estimator*> found;
        found.reserve(from_files.size() + 6);
        for (auto const& one : from_files) found.push_back(one.get());
        found.insert(found.end(), {&nominal_speed_, &remaining_, &speed_, &phases_});
        if (of.measures_use) found.push_back(&bottleneck_);
        if (of.has_devices) found.push_back(&duration_);
        return found;
    }

public:
    /// `models`: of the classes of jobs, by `jobs/class`. Without devices the job table shows `jobs/total_steps` as
    /// jobs report it. Estimators from files come first, and so they count; they outlive the object.
    live_estimators(std::vector<estimators::phase_model> models, estimated_host of,
                    std::span<std::unique_ptr<any_estimator> const> from_files)
        : phases_(estimators::phases(std::move(models))), all_(all(of, from_files)),
          stage_({.available = all_,
                  .unfilled = std::span(estimated_columns).first(of.has_devices ? 9 : 8),
                  .wanted = std::span(wanted_columns).first(of.measures_use ? 1 : 0)}),
          from_files_(from_files) {}
    live_estimators(live_estimators const&) = delete;
    live_estimators& operator=(live_estimators const&) = delete;

    /// For an engine, which this object has to outlive.
    [[nodiscard]] estimation* stage() noexcept { return &stage_; }

    /// Warns once of the last fault of each estimator from a file.
    void warn_of_faults(event_sink& events, nanoseconds now) const {
        for (auto const& one : from_files_)
            if (auto const trouble = trouble_of(*one); !trouble.empty())
                events.warn_once("estimator " + std::string(one->about().id),
                                 trouble + "; its columns are unknown without an answer", now);
    }
};

}  // namespace ration::program
