// SPDX-License-Identifier: BSL-1.0
// Each named part of Resource: a model, and near misses one edit away from it.
#include <ration/resource.hpp>
#include <ration/setting.hpp>

namespace resource_near_misses {

using ration::divisibility;
using ration::resource_tag;

struct model {
    using resource_concept = resource_tag;
    static constexpr char const* name = "tokens";
    static constexpr std::string_view unit = "tokens";
    static constexpr divisibility granularity = divisibility::fractional;
};
static_assert(ration::has_resource_tag<model> && ration::has_name<model> && ration::has_unit<model> &&
              ration::has_divisibility<model>);
static_assert(ration::Resource<model>);
static_assert(!ration::Resource<int>);
static_assert(!ration::Resource<model&>);

// The tag.
struct own_tag : resource_tag {};
struct refined {
    using resource_concept = own_tag;
};
struct no_tag {};
struct wrong_tag {
    using resource_concept = int;
};
struct tag_of_another_concept {
    struct target_tag {};
    using resource_concept = target_tag;
};
struct tag_as_member {
    resource_tag resource_concept;
};
class private_tag {
    using resource_concept = resource_tag;
};
struct tag_by_private_base : private resource_tag {};
struct private_derivation {
    using resource_concept = tag_by_private_base;
};
static_assert(ration::has_resource_tag<refined>);
static_assert(!ration::has_resource_tag<no_tag>);
static_assert(!ration::has_resource_tag<wrong_tag>);
static_assert(!ration::has_resource_tag<tag_of_another_concept>);
static_assert(!ration::has_resource_tag<tag_as_member>);
static_assert(!ration::has_resource_tag<private_tag>);
static_assert(!ration::has_resource_tag<private_derivation>);

// The two texts. Both parts are the same words, so both get the same near misses.
struct not_static {
    std::string_view name = "tokens", unit = "tokens";
    divisibility granularity = divisibility::fractional;
};
struct not_constant {
    static inline std::string_view name = "tokens", unit = "tokens";
    static inline divisibility granularity = divisibility::fractional;
};
inline std::string_view message_at_run_time() { return "tokens"; }
inline divisibility cut_at_run_time() { return divisibility::fractional; }
struct constant_only_at_run_time {
    static inline std::string_view const name = message_at_run_time(), unit = message_at_run_time();
    static inline divisibility const granularity = cut_at_run_time();
};
struct of_another_type {
    static constexpr int name = 1, unit = 1, granularity = 1;
};
class hidden {
    static constexpr std::string_view name = "tokens", unit = "tokens";
    static constexpr divisibility granularity = divisibility::fractional;
};
struct functions {
    static constexpr std::string_view name() { return "tokens"; }
    static constexpr std::string_view unit() { return "tokens"; }
    static constexpr divisibility granularity() { return divisibility::fractional; }
};
static_assert(!ration::has_name<no_tag> && !ration::has_unit<no_tag> && !ration::has_divisibility<no_tag>);
static_assert(!ration::has_name<not_static> && !ration::has_unit<not_static> && !ration::has_divisibility<not_static>);
static_assert(!ration::has_name<not_constant> && !ration::has_unit<not_constant> &&
              !ration::has_divisibility<not_constant>);
static_assert(!ration::has_name<constant_only_at_run_time> && !ration::has_unit<constant_only_at_run_time> &&
              !ration::has_divisibility<constant_only_at_run_time>);
static_assert(!ration::has_name<of_another_type> && !ration::has_unit<of_another_type> &&
              !ration::has_divisibility<of_another_type>);
static_assert(!ration::has_name<hidden> && !ration::has_unit<hidden> && !ration::has_divisibility<hidden>);
static_assert(!ration::has_name<functions> && !ration::has_unit<functions> && !ration::has_divisibility<functions>);

// The conjunction needs every part.
struct without_tag {
    static constexpr std::string_view name = "t", unit = "t";
    static constexpr divisibility granularity = divisibility::atomic;
};
struct without_name {
    using resource_concept = resource_tag;
    static constexpr std::string_view unit = "t";
    static constexpr divisibility granularity = divisibility::atomic;
};
struct without_unit {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "t";
    static constexpr divisibility granularity = divisibility::atomic;
};
struct without_divisibility {
    using resource_concept = resource_tag;
    static constexpr std::string_view name = "t", unit = "t";
};
static_assert(!ration::Resource<without_tag>);
static_assert(!ration::Resource<without_name>);
static_assert(!ration::Resource<without_unit>);
static_assert(!ration::Resource<without_divisibility>);

// The index of a standard resource is its id.
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::cpu)].name == "cpu");
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::memory)].name == "memory");
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::gpu)].name == "gpu");
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::gpu_sm)].name == "gpu.sm");
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::cache)].name == "cache");
static_assert(ration::standard_resources[static_cast<std::size_t>(ration::resource_id::batch)].name == "batch");
static_assert(std::size(ration::standard_resources) == static_cast<std::size_t>(ration::resource_id::first_custom));
// A host adds it, so it has no fixed number.
static_assert(ration::Resource<ration::memory_soft> &&
              ration::info_of<ration::memory_soft>().granularity == divisibility::setting);
static_assert(ration::info_of<model>().name == "tokens" &&
              ration::info_of<model>().granularity == divisibility::fractional);

}  // namespace resource_near_misses
