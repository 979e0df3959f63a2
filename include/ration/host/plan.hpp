// SPDX-License-Identifier: BSL-1.0
/// A plan: the reversible operations that apply grants, in their order.
///
/// A backend makes it (`Backend::plan`), the engine executes it, and `--dry-run` prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration {

/// The time at which an operation takes effect: on the running process, at its next launch, or only
/// on an idle GPU.
enum class timing : std::uint8_t { live, needs_restart, needs_idle_gpu };

/// The time as a word, as the event log has it.
[[nodiscard]] constexpr std::string_view name_of(timing when) noexcept {
    switch (when) {
        case timing::live: return "live";
        case timing::needs_restart: return "needs_restart";
        case timing::needs_idle_gpu: return "needs_idle_gpu";
    }
    return "unknown";
}

/// A validated grant with the job's id: "job holds `amount` of `resource` on `node` from now on".
struct setting {
    /// The job.
    job_id job;
    std::uint32_t node = 0;  ///< row of the nodes table
    /// The resource.
    resource_id resource{};
    std::int64_t amount = 0;  ///< in the resource's unit; 0 releases, `unlimited` removes the limit
    friend constexpr bool operator==(setting const&, setting const&) noexcept = default;
};

/// One operation as text: for `--dry-run`, the event log and error messages.
struct operation_text {
    /// The job, the resource and the time of effect.
    job_id job;
    resource_id resource{};
    /// When it takes effect.
    timing when = timing::live;
    text<160> subject;  ///< the changed object: a kernel file, a process attribute
    /// The values before and after.
    text<64> old_value;
    /// The value after the operation.
    text<64> new_value;
};

/// Operations of one backend, of the backend's own type; see `Backend` in backend.hpp.
template <class Operation>
using plan = std::vector<Operation>;

/// The failure of a plan: the operation, its error, and whether all operations before it were
/// rolled back.
struct plan_failure {
    /// Index of the operation.
    std::size_t at = 0;
    /// Its error.
    error cause;
    /// False if an operation could not be undone; the machine is in an intermediate state then.
    bool rolled_back = true;
};

}  // namespace ration
