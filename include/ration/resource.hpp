// SPDX-License-Identifier: BSL-1.0
/// Resources: the quantities that jobs hold.
///
/// Each grant, bound and capacity is an amount of one resource, as a whole number of its unit. The
/// six standard resources have types and fixed numbers; a host adds its own as rows of
/// `resource_info`.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ration/units.hpp>

namespace ration {

/// The granularity of a resource: whether amounts are whole devices (`atomic`), parts
/// (`fractional`), or parts that several jobs can use at the same time (`shareable`, as a cached
/// data set). Shareable amounts are summed like fractional ones. A `setting` is not shared at all: each
/// job has its own amount, and no node has a capacity of it.
enum class divisibility : std::uint8_t { atomic, fractional, shareable, setting };

/// A row of the resources table. The numbers of the six standard resources are part of the plugin
/// ABI; a host numbers its own from `first_custom` on.
enum class resource_id : std::uint16_t {
    cpu = 0,
    memory = 1,
    gpu = 2,
    gpu_sm = 3,
    cache = 4,
    batch = 5,
    first_custom = 6
};

/// The largest amount that a grant may name. It is exact in a double, and 512 such amounts add up
/// without overflow in 64 bits.
inline constexpr std::int64_t max_amount = std::int64_t{1} << 53;
/// The amount that means "no limit". Valid for every resource whose granularity is not `atomic`.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// The smallest positive CPU grant, in millicores: a CFS quota is at least 1 ms, and a period is
/// 100 ms. A grant of 0 pauses the job. Source: min_cfs_quota_period in kernel/sched/core.c.
inline constexpr millicores least_cpu{1000 * milliseconds(1).count / milliseconds(100).count};

/// The smallest positive amount of a resource that a grant may name.
[[nodiscard]] constexpr std::int64_t least_amount(resource_id r) noexcept {
    return r == resource_id::cpu ? least_cpu.count : 1;
}

/// The part of a node's capacity that a grant reserves. `unlimited` reserves nothing, nor does the smallest CPU grant:
/// a job can have that on a full node (docs/adr/0019).
[[nodiscard]] constexpr std::int64_t reserved(std::int64_t amount, resource_id r) noexcept {
    return amount == unlimited || (r == resource_id::cpu && amount <= least_cpu.count) ? 0 : amount;
}

/// Base of the tag by which a type declares that it is a resource: `using resource_concept =
/// ration::resource_tag;`.
struct resource_tag {};

/// The type has declared the tag.
template <class R>
concept has_resource_tag = requires { requires std::derived_from<typename R::resource_concept, resource_tag>; };
// A member that is used as a template argument has to be static and constant; so these concepts
// refuse other members.
/// `R::name`: constant text.
template <class R>
concept has_name = requires { typename std::bool_constant<std::string_view(R::name).empty()>; };
/// `R::unit`: constant text.
template <class R>
concept has_unit = requires { typename std::bool_constant<std::string_view(R::unit).empty()>; };
/// `R::granularity`: a constant of type `divisibility`.
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

/// CPU time. The unit is a thousandth of a core; 1000 is one core.
struct cpu {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "cpu", unit = "millicores";
    /// The quota of a job can be any number of millicores from `least_cpu` on.
    static constexpr divisibility granularity = divisibility::fractional;
};
/// Main memory of a job, in bytes.
struct memory {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "memory", unit = "bytes";
    /// A limit can be any number of bytes.
    static constexpr divisibility granularity = divisibility::fractional;
};
/// Whole devices, such as GPUs. Which devices a job receives is decided by the host.
struct gpu {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "gpu", unit = "devices";
    /// Amounts are whole devices, and `unlimited` is refused.
    static constexpr divisibility granularity = divisibility::atomic;
};
/// A share of the multiprocessors of one GPU, in thousandths of the device.
struct gpu_sm {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "gpu.sm", unit = "per-mille of a device";
    /// Shares of one device add up.
    static constexpr divisibility granularity = divisibility::fractional;
};
/// A share of the last-level cache, in bytes.
struct cache {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "cache", unit = "bytes";
    /// Several jobs can use the same bytes.
    static constexpr divisibility granularity = divisibility::shareable;
};
/// The samples per step with which a job trains. A job whose maximum is 0 chooses its own.
struct batch {
    /// Declares the struct as a resource.
    using resource_concept = resource_tag;
    /// Name in columns, and unit in messages.
    static constexpr std::string_view name = "batch", unit = "samples per step";
    /// Each job has its own.
    static constexpr divisibility granularity = divisibility::setting;
};

// Each standard type has to model the concept; a missing member fails here and not at a user.
static_assert(Resource<cpu> && Resource<memory> && Resource<gpu> && Resource<gpu_sm> && Resource<cache> &&
              Resource<batch>);

/// A resource as a row of data, for hosts whose resources are known at run time only.
struct resource_info {
    /// The same texts as in the type.
    std::string_view name, unit;
    /// The granularity; decides whether `unlimited` is a valid amount.
    divisibility granularity = divisibility::fractional;
};

/// The row of a resource type.
template <Resource R>
[[nodiscard]] constexpr resource_info info_of() noexcept {
    return {R::name, R::unit, R::granularity};
}

/// The standard resources, in the order of `resource_id`.
inline constexpr resource_info standard_resources[] = {info_of<cpu>(),    info_of<memory>(), info_of<gpu>(),
                                                       info_of<gpu_sm>(), info_of<cache>(),  info_of<batch>()};

}  // namespace ration
