// SPDX-License-Identifier: BSL-1.0
// Each named part of Job: a model, and near misses one edit away from it.
#include <ration/job.hpp>

namespace job_near_misses {

using ration::bounds;
using ration::job_id;
using ration::job_tag;
using ration::resource_id;
using reported = ration::job_progress;
using wanted = ration::two_tier_target;

struct model {
    using job_concept = job_tag;
    job_id id() const noexcept;
    bounds bounds_of(resource_id) const noexcept;
    reported progress() const noexcept;
    wanted target() const noexcept;
};
static_assert(ration::has_job_tag<model> && ration::has_id<model> && ration::has_bounds<model> &&
              ration::has_progress<model> && ration::has_target<model>);
static_assert(ration::Job<model>);
static_assert(!ration::Job<int>);

// The tag.
struct none {};
struct wrong_tag {
    using job_concept = ration::target_tag;
};
class private_tag {
    using job_concept = job_tag;
};
static_assert(!ration::has_job_tag<none>);
static_assert(!ration::has_job_tag<wrong_tag>);
static_assert(!ration::has_job_tag<private_tag>);

// id()
struct id_not_const {
    job_id id() noexcept;
};
struct id_may_throw {
    job_id id() const;
};
struct id_as_number {
    std::uint64_t id() const noexcept;
};
struct id_as_member {
    job_id id;
};
class id_hidden {
    job_id id() const noexcept;
};
static_assert(!ration::has_id<none>);
static_assert(!ration::has_id<id_not_const>);
static_assert(!ration::has_id<id_may_throw>);
static_assert(!ration::has_id<id_as_number>);
static_assert(!ration::has_id<id_as_member>);
static_assert(!ration::has_id<id_hidden>);

// bounds_of(resource)
struct bounds_not_const {
    bounds bounds_of(resource_id) noexcept;
};
struct bounds_may_throw {
    bounds bounds_of(resource_id) const;
};
struct bounds_as_one_number {
    std::int64_t bounds_of(resource_id) const noexcept;
};
struct bounds_of_nothing {
    bounds bounds_of() const noexcept;
};
struct bounds_by_name {
    bounds bounds_of(std::string_view) const noexcept;
};
static_assert(!ration::has_bounds<none>);
static_assert(!ration::has_bounds<bounds_not_const>);
static_assert(!ration::has_bounds<bounds_may_throw>);
static_assert(!ration::has_bounds<bounds_as_one_number>);
static_assert(!ration::has_bounds<bounds_of_nothing>);
static_assert(!ration::has_bounds<bounds_by_name>);

// progress()
struct progress_not_const {
    reported progress() noexcept;
};
struct progress_may_throw {
    reported progress() const;
};
struct progress_as_fraction {
    double progress() const noexcept;
};
struct progress_by_reference {
    reported const& progress() const noexcept;
};
static_assert(!ration::has_progress<none>);
static_assert(!ration::has_progress<progress_not_const>);
static_assert(!ration::has_progress<progress_may_throw>);
static_assert(!ration::has_progress<progress_as_fraction>);
static_assert(!ration::has_progress<progress_by_reference>);

// target()
struct target_by_reference {
    wanted const& target() const noexcept;
};
struct target_not_const {
    wanted target() noexcept;
};
struct target_as_number {
    double target() const noexcept;
};
struct target_as_pointer {
    wanted const* target() const noexcept;
};
struct target_optional {
    std::optional<wanted> target() const noexcept;
};
class target_hidden {
    wanted target() const noexcept;
};
static_assert(ration::has_target<target_by_reference>);
static_assert(std::is_same_v<ration::target_of<target_by_reference>, wanted>);
static_assert(!ration::has_target<none>);
static_assert(!ration::has_target<target_not_const>);
static_assert(!ration::has_target<target_as_number>);
static_assert(!ration::has_target<target_as_pointer>);
static_assert(!ration::has_target<target_optional>);
static_assert(!ration::has_target<target_hidden>);

// The conjunction needs every part.
struct without_tag {
    job_id id() const noexcept;
    bounds bounds_of(resource_id) const noexcept;
    reported progress() const noexcept;
    wanted target() const noexcept;
};
struct without_id {
    using job_concept = job_tag;
    bounds bounds_of(resource_id) const noexcept;
    reported progress() const noexcept;
    wanted target() const noexcept;
};
struct without_bounds {
    using job_concept = job_tag;
    job_id id() const noexcept;
    reported progress() const noexcept;
    wanted target() const noexcept;
};
struct without_progress {
    using job_concept = job_tag;
    job_id id() const noexcept;
    bounds bounds_of(resource_id) const noexcept;
    wanted target() const noexcept;
};
struct without_target {
    using job_concept = job_tag;
    job_id id() const noexcept;
    bounds bounds_of(resource_id) const noexcept;
    reported progress() const noexcept;
};
static_assert(!ration::Job<without_tag>);
static_assert(!ration::Job<without_id>);
static_assert(!ration::Job<without_bounds>);
static_assert(!ration::Job<without_progress>);
static_assert(!ration::Job<without_target>);

// An amount is brought within what the job accepts.
static_assert(ration::within(5, {10, 20}) == 10 && ration::within(10, {10, 20}) == 10 &&
              ration::within(15, {10, 20}) == 15);
static_assert(ration::within(20, {10, 20}) == 20 && ration::within(21, {10, 20}) == 20);
static_assert(ration::within(ration::unlimited, {}) == ration::unlimited && ration::within(0, {}) == 0);

// What is done or failed holds nothing; all else may.
using ration::job_state;
static_assert(is_active(job_state::queued) && is_active(job_state::running) && is_active(job_state::restarting));
static_assert(!is_active(job_state::done) && !is_active(job_state::failed));

}  // namespace job_near_misses
