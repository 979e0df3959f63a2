// SPDX-License-Identifier: BSL-1.0
/// The rules that every grant has to satisfy. `checker` (host/check.hpp) applies them; the event
/// log and `ration check` print them.
#pragma once

#include <cstdint>
#include <string_view>

namespace ration {

/// The reason for the rejection of a row. One rejected row rejects its whole group.
enum class check_rule : std::uint8_t {
    /// The row is valid.
    passed = 0,
    unknown_job,       ///< no such row in the jobs table
    unknown_node,      ///< no such row in the nodes table
    unknown_resource,  ///< not a resource of this host
    /// Amounts are 0 or more.
    negative_amount,
    amount_too_large,   ///< above `max_amount` and not `unlimited`
    amount_too_small,   ///< positive, and below `least_amount` of the resource
    unlimited_atomic,   ///< `unlimited` for a resource of whole units
    job_not_active,     ///< a positive amount for a job that is done or failed
    below_minimum,      ///< the job's amount on all nodes together would be below its minimum and not 0
    above_maximum,      ///< the job's amount on all nodes together would exceed its maximum
    divided,            ///< grants of one resource to one job are in different groups
    duplicate,          ///< the same job, node and resource a second time in one tick
    over_capacity,      ///< the reservations of the node would exceed its capacity
    broken_group,       ///< another row of the same job or group was rejected
    over_tenant_limit,  ///< the job's tenant, or one above it, would exceed its limit
};

/// The rule as a sentence, for messages.
[[nodiscard]] constexpr std::string_view name_of(check_rule rule) noexcept {
    switch (rule) {
        case check_rule::passed: return "passed";
        case check_rule::unknown_job: return "no such job exists";
        case check_rule::unknown_node: return "no such node exists";
        case check_rule::unknown_resource: return "this host has no such resource";
        case check_rule::negative_amount: return "the amount is negative";
        case check_rule::amount_too_large: return "the amount is above 2^53";
        case check_rule::amount_too_small:
            return "the CPU amount is below 10 millicores, the kernel's smallest limit, and not 0";
        case check_rule::unlimited_atomic: return "no limit is asked for a resource that comes in whole units";
        case check_rule::job_not_active: return "the job is done or failed";
        case check_rule::below_minimum: return "the amount is below the job's minimum";
        case check_rule::above_maximum: return "the amount is above the job's maximum";
        case check_rule::divided: return "grants of one resource to one job are in different groups";
        case check_rule::duplicate: return "job, node and resource are granted twice in one tick";
        case check_rule::over_capacity: return "the node would promise more than it has";
        case check_rule::broken_group: return "another grant of its group was refused";
        case check_rule::over_tenant_limit: return "the tenant would hold more than its limit";
    }
    return "unknown rule";
}

}  // namespace ration
