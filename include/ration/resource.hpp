// SPDX-License-Identifier: BSL-1.0
/// Resources: the quantities that jobs hold.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ration/units.hpp>

namespace ration {

/// How finely a resource can be divided. `shareable` (a cached data set) is counted like `fractional`: the amounts of
/// all jobs add up.
enum class divisibility : std::uint8_t { atomic, fractional, shareable };

/// The number of a resource. The six standard ones are fixed; a host numbers its own from `first_custom` on.
enum class resource_id : std::uint16_t {
    cpu = 0,
    memory = 1,
    gpu = 2,
    gpu_sm = 3,
    cache = 4,
    batch = 5,
    first_custom = 6
};

/// The largest amount a grant may name: exact in a double, and 512 of them add up without overflow.
inline constexpr std::int64_t max_amount = std::int64_t{1} << 53;
/// The amount that means "no limit", for a resource that is not `whole`.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// The smallest positive CPU grant: a CFS quota is at least 1 ms, and a period is 100 ms. A grant of 0 pauses the job.
/// Source: min_cfs_quota_period in kernel/sched/core.c.
inline constexpr millicores least_cpu{1000 * milliseconds(1).count / milliseconds(100).count};

/// The smallest positive amount of a resource that a grant may name.
[[nodiscard]] constexpr std::int64_t least_amount(resource_id r) noexcept {
    return r == resource_id::cpu ? least_cpu.count : 1;
}

/// Base of the tag by which a type says that it is meant to be a resource.
struct resource_tag {};

template <class R>
concept has_resource_tag = requires { requires std::derived_from<typename R::resource_concept, resource_tag>; };
// Used as a template argument, a member proves that it is static and constant.
template <class R>
concept has_name = requires { typename std::bool_constant<std::string_view(R::name).empty()>; };
template <class R>
concept has_unit = requires { typename std::bool_constant<std::string_view(R::unit).empty()>; };
template <class R>
concept has_divisibility = requires { typename std::bool_constant<(R::granularity == divisibility::atomic)>; };

/// A quantity that jobs hold.
/// Valid expressions: `R::name`, `R::unit` (text), `R::granularity` (divisibility); all static and constant.
/// Laws: (1) the name is unique on a host and spelt `[a-z][a-z0-9.]*`; (2) amounts are whole numbers of the unit.
/// Cost: none at run time.
/// Smallest model: `struct tokens { using resource_concept = ration::resource_tag; static constexpr char const* name =
/// "tokens", *unit = "tokens"; static constexpr auto granularity = ration::divisibility::fractional; };`
template <class R>
concept Resource = has_resource_tag<R> && has_name<R> && has_unit<R> && has_divisibility<R>;

/// CPU time. The unit is a thousandth of a core.
struct cpu {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "cpu", unit = "millicores";
    static constexpr divisibility granularity = divisibility::fractional;
};
/// Main memory of the jobs, in bytes.
struct memory {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "memory", unit = "bytes";
    static constexpr divisibility granularity = divisibility::fractional;
};
/// Whole devices, such as GPUs.
struct gpu {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "gpu", unit = "devices";
    static constexpr divisibility granularity = divisibility::atomic;
};
/// A share of the multiprocessors of one GPU, in thousandths.
struct gpu_sm {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "gpu.sm", unit = "per-mille of a device";
    static constexpr divisibility granularity = divisibility::fractional;
};
/// A share of the last-level cache, in bytes.
struct cache {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "cache", unit = "bytes";
    static constexpr divisibility granularity = divisibility::shareable;
};
/// The samples per step that a job trains with. A node can bound the sum.
struct batch {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "batch", unit = "samples per step";
    static constexpr divisibility granularity = divisibility::fractional;
};

static_assert(Resource<cpu> && Resource<memory> && Resource<gpu> && Resource<gpu_sm> && Resource<cache> &&
              Resource<batch>);

/// A resource as a row of data, for hosts whose resources are known at run time only.
struct resource_info {
    std::string_view name, unit;
    divisibility granularity = divisibility::fractional;
};

template <Resource R>
[[nodiscard]] constexpr resource_info info_of() noexcept {
    return {R::name, R::unit, R::granularity};
}

/// The standard resources, in the order of `resource_id`.
inline constexpr resource_info standard_resources[] = {info_of<cpu>(),    info_of<memory>(), info_of<gpu>(),
                                                       info_of<gpu_sm>(), info_of<cache>(),  info_of<batch>()};

}  // namespace ration
