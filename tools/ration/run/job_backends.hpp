// SPDX-License-Identifier: BSL-1.0
/// The backends of this program by name: the words of `ration run --backend`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "run/job_backend.hpp"
#include "run/options.hpp"
#include "run/run_cpus.hpp"

namespace ration::program {

/// `automatic_backend`, then the others in the order in which it tries them. Static texts.
[[nodiscard]] std::vector<std::string_view> job_backend_names();

/// Pre: `name` is one of `job_backend_names`. Errors: those of the backend; with `automatic_backend` those of the last
/// one.
[[nodiscard]] result<std::unique_ptr<job_backend>> open_job_backend(std::string_view name, run_cpus const& cpus);

}  // namespace ration::program
