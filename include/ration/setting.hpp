// SPDX-License-Identifier: BSL-1.0
/// Resources that are settings, and the number by which a grant names a resource that is not standard.
///
/// For hosts that offer such a resource, and for policies that grant it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <ration/policy.hpp>
#include <ration/resource.hpp>

namespace ration {

/// Bytes of main memory from which on the kernel reclaims memory of the job. Nothing is killed for it, unlike beyond a
/// limit of `memory`. A host that offers it adds it to its resources.
struct memory_soft {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "memory.soft", unit = "bytes";
    /// Each job has its own.
    static constexpr divisibility granularity = divisibility::setting;
};
/// The time from the end of a checkpoint of a job to the begin of the next one, in milliseconds. 0: the job or its host
/// chooses.
struct save_interval {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "save.interval", unit = "milliseconds";
    /// Each job has its own.
    static constexpr divisibility granularity = divisibility::setting;
};

static_assert(Resource<memory_soft> && Resource<save_interval>);

/// The number of a resource, with which a grant names it; empty if the host with these limits does not have it.
/// O(resources).
[[nodiscard]] constexpr std::optional<resource_id> find_resource(limits const& of_host,
                                                                 std::string_view name) noexcept {
    bool const is_custom = of_host.resource_table != nullptr;
    resource_info const* const table = is_custom ? of_host.resource_table : standard_resources;
    std::size_t const standard = std::size(standard_resources),
                      count = is_custom || of_host.resources < standard ? of_host.resources : standard;
    for (std::size_t r = 0; r < count; ++r)
        if (table[r].name == name) return static_cast<resource_id>(r);
    return std::nullopt;
}

}  // namespace ration
