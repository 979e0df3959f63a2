// SPDX-License-Identifier: BSL-1.0
/// A plan: the reversible operations that put grants into force, in the order in which they must happen.
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

/// When an operation takes effect: on the running process, at its next launch, or only on a GPU that nobody uses.
enum class timing : std::uint8_t { live, needs_restart, needs_idle_gpu };

[[nodiscard]] constexpr std::string_view name_of(timing when) noexcept {
    switch (when) {
        case timing::live: return "live";
        case timing::needs_restart: return "needs_restart";
        case timing::needs_idle_gpu: return "needs_idle_gpu";
    }
    return "unknown";
}

/// A grant that passed every check, with the job named by its id: "job holds `amount` of `resource` on `node` from now
/// on".
struct setting {
    job_id job;
    std::uint32_t node = 0;  ///< row of the nodes table
    resource_id resource{};
    std::int64_t amount = 0;  ///< in the resource's unit; 0 releases, `unlimited` lifts the limit
    friend constexpr bool operator==(setting const&, setting const&) noexcept = default;
};

/// One operation as people see it: `--dry-run`, the event log, error messages.
struct operation_text {
    job_id job;
    resource_id resource{};
    timing when = timing::live;
    text<160> subject;  ///< what is changed: a kernel file, a process attribute
    text<64> old_value;
    text<64> new_value;
};

/// Operations of one backend. `Operation` is the backend's own type; see `Backend` in backend.hpp.
template <class Operation>
using plan = std::vector<Operation>;

/// Why a plan did not hold: the operation that failed, its error, and whether every operation before it was taken back.
struct plan_failure {
    std::size_t at = 0;
    error cause;
    bool rolled_back = true;
};

}  // namespace ration
