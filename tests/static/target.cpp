// SPDX-License-Identifier: BSL-1.0
// Each named part of Target: a model, and near misses one edit away from it.
#include <limits>

#include <ration/target.hpp>

namespace target_near_misses {

using ration::target_tag;
using u32 = std::uint32_t;

struct model {
    using target_concept = target_tag;
    std::string_view metric() const noexcept;
    u32 tiers() const noexcept;
    u32 reached(double) const noexcept;
};
static_assert(ration::has_target_tag<model> && ration::has_metric<model> && ration::has_ordered_tiers<model>);
static_assert(ration::Target<model>);
static_assert(!ration::Target<int>);

// The tag.
struct no_tag {};
struct wrong_tag {
    using target_concept = bool;
};
class private_tag {
    using target_concept = target_tag;
};
struct own_tag : target_tag {};
struct refined {
    using target_concept = own_tag;
};
static_assert(ration::has_target_tag<refined>);
static_assert(!ration::has_target_tag<no_tag>);
static_assert(!ration::has_target_tag<wrong_tag>);
static_assert(!ration::has_target_tag<private_tag>);

// metric()
struct metric_as_c_string {
    char const* metric() const noexcept;
};
struct metric_not_const {
    std::string_view metric() noexcept;
};
struct metric_may_throw {
    std::string_view metric() const;
};
struct metric_of_another_type {
    int metric() const noexcept;
};
struct metric_of_something {
    std::string_view metric(int) const noexcept;
};
struct metric_as_member {
    std::string_view metric;
};
class metric_hidden {
    std::string_view metric() const noexcept;
};
static_assert(ration::has_metric<metric_as_c_string>);
static_assert(!ration::has_metric<no_tag>);
static_assert(!ration::has_metric<metric_not_const>);
static_assert(!ration::has_metric<metric_may_throw>);
static_assert(!ration::has_metric<metric_of_another_type>);
static_assert(!ration::has_metric<metric_of_something>);
static_assert(!ration::has_metric<metric_as_member>);
static_assert(!ration::has_metric<metric_hidden>);

// tiers() and reached(value)
struct no_tiers {
    u32 reached(double) const noexcept;
};
struct tiers_not_const {
    u32 tiers() noexcept;
    u32 reached(double) const noexcept;
};
struct tiers_may_throw {
    u32 tiers() const;
    u32 reached(double) const noexcept;
};
struct tiers_of_another_type {
    int tiers() const noexcept;
    u32 reached(double) const noexcept;
};
struct no_reached {
    u32 tiers() const noexcept;
};
struct reached_not_const {
    u32 tiers() const noexcept;
    u32 reached(double) noexcept;
};
struct reached_may_throw {
    u32 tiers() const noexcept;
    u32 reached(double) const;
};
struct reached_yes_or_no {
    u32 tiers() const noexcept;
    bool reached(double) const noexcept;
};
struct reached_without_a_value {
    u32 tiers() const noexcept;
    u32 reached() const noexcept;
};
struct reached_by_pointer {
    u32 tiers() const noexcept;
    u32 reached(double const*) const noexcept;
};
static_assert(!ration::has_ordered_tiers<no_tag>);
static_assert(!ration::has_ordered_tiers<no_tiers>);
static_assert(!ration::has_ordered_tiers<tiers_not_const>);
static_assert(!ration::has_ordered_tiers<tiers_may_throw>);
static_assert(!ration::has_ordered_tiers<tiers_of_another_type>);
static_assert(!ration::has_ordered_tiers<no_reached>);
static_assert(!ration::has_ordered_tiers<reached_not_const>);
static_assert(!ration::has_ordered_tiers<reached_may_throw>);
static_assert(!ration::has_ordered_tiers<reached_yes_or_no>);
static_assert(!ration::has_ordered_tiers<reached_without_a_value>);
static_assert(!ration::has_ordered_tiers<reached_by_pointer>);

// The conjunction needs every part.
struct without_tag {
    std::string_view metric() const noexcept;
    u32 tiers() const noexcept;
    u32 reached(double) const noexcept;
};
struct without_metric {
    using target_concept = target_tag;
    u32 tiers() const noexcept;
    u32 reached(double) const noexcept;
};
struct without_tiers {
    using target_concept = target_tag;
    std::string_view metric() const noexcept;
};
static_assert(!ration::Target<without_tag>);
static_assert(!ration::Target<without_metric>);
static_assert(!ration::Target<without_tiers>);

// The comparison at the threshold, on both sides of it, and for what is not a number.
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
using ration::direction;
static_assert(ration::reaches(direction::down, 1.0, 1.0) && ration::reaches(direction::up, 1.0, 1.0));
static_assert(ration::reaches(direction::down, 0.9, 1.0) && !ration::reaches(direction::down, 1.1, 1.0));
static_assert(ration::reaches(direction::up, 1.1, 1.0) && !ration::reaches(direction::up, 0.9, 1.0));
static_assert(!ration::reaches(direction::down, nan, 1.0) && !ration::reaches(direction::up, nan, 1.0));
static_assert(ration::is_finite(0.0) && ration::is_finite(-1e308) &&
              ration::is_finite(std::numeric_limits<double>::denorm_min()));
static_assert(!ration::is_finite(nan) && !ration::is_finite(infinite) && !ration::is_finite(-infinite));

}  // namespace target_near_misses
