// SPDX-License-Identifier: BSL-1.0
/// What `ration doctor` finds: what can be controlled here, and its part about GPUs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <ration/cuda/driver.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/cuda/mps.hpp>
#include <ration/cuda/runtime.hpp>

#include "common/exit_code.hpp"

namespace ration::program {

/// One thing that can be controlled, or why not and what helps. One row of the table.
struct finding {
    std::string what, by, where, why_not, remedy;
    [[nodiscard]] bool available() const { return why_not.empty(); }
};

[[nodiscard]] finding refused(std::string what, error why);
[[nodiscard]] std::string to_line(finding const& row);
[[nodiscard]] nlohmann::ordered_json to_json(finding const& row);

/// The driver, the runtime and MPS answer in processes of their own, each within `patience`.
struct gpu_findings {
    static constexpr nanoseconds patience = seconds(20);

    cuda::inventory found;
    result<cuda::driver_view> driver;  ///< under the mask that would hand out all GPUs that can be
    result<cuda::runtime_view> runtime;
    std::vector<finding> levels;  ///< empty without a GPU
};

/// `own_groups`: `ration run` gives jobs groups of their own here.
[[nodiscard]] gpu_findings examine_gpus(bool own_groups);
[[nodiscard]] std::string to_text(gpu_findings const& gpus);
[[nodiscard]] nlohmann::ordered_json to_json(gpu_findings const& gpus);

struct doctor_options {
    bool json = false;
};

/// `ration doctor`. Prints what it finds.
[[nodiscard]] exit_code doctor(doctor_options const& options);

}  // namespace ration::program
