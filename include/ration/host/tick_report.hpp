// SPDX-License-Identifier: BSL-1.0
/// The report of an engine on one tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/grant.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/check.hpp>
#include <ration/host/checked_grant.hpp>
#include <ration/host/plan.hpp>
#include <ration/host/settle.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration {

/// Whether a tick applies its plan, or only reports it.
enum class tick_mode : std::uint8_t { apply, plan_only };

/// One change that is now in force (or, with `plan_only`, would be), with the operations that bring it about.
struct change {
    checked_grant grant;
    std::size_t first_operation = 0, operations = 0;  ///< in `tick_report::operations`
};

/// A group of grants that could not be put into force; what held before holds again if `rolled_back`.
struct failed_change {
    checked_grant grant;
    plan_failure failure;
};

/// All that happened in one tick. The spans are valid until the next tick.
struct tick_report {
    std::uint64_t number = 0;
    nanoseconds now;
    status policy_status = status::ok;
    bool fell_back = false;  ///< the policy's answer was refused as a whole and the fallback answered
    std::span<grant const> grants{};
    std::span<rejection const> rejected{};
    std::span<deferred_grant const> deferred{};
    std::span<change const> changes{};
    std::span<operation_text const> operations{};
    std::span<failed_change const> failed{};
};

}  // namespace ration
