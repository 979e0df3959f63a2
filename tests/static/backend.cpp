// SPDX-License-Identifier: BSL-1.0
// Each named part of Backend: a model, and near misses one edit away from it.
#include <vector>

#include <ration/host/backend.hpp>

namespace backend_near_misses {

using ration::backend_tag;
using ration::job_id;
using ration::observation;
using ration::operation_text;
using ration::plan;
using ration::resource_id;
using ration::result;
using ration::setting;

struct op {};

struct model {
    using backend_concept = backend_tag;
    using operation = op;
    std::span<resource_id const> resources() const noexcept;
    result<observation> observe(job_id) noexcept;
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
    result<void> apply(op const&) noexcept;
    result<void> verify(op const&) noexcept;
    result<void> undo(op const&) noexcept;
    operation_text describe(op const&) noexcept;
};
static_assert(ration::has_backend_tag<model> && ration::has_resources<model> && ration::can_observe<model> &&
              ration::can_plan<model> && ration::can_apply<model>);
static_assert(ration::Backend<model>);
static_assert(!ration::Backend<int>);

// The tag.
struct nothing {};
struct wrong_tag {
    using backend_concept = ration::job_id;
};
class private_tag {
    using backend_concept = backend_tag;
};
static_assert(!ration::has_backend_tag<nothing>);
static_assert(!ration::has_backend_tag<wrong_tag>);
static_assert(!ration::has_backend_tag<private_tag>);

// resources()
struct resources_as_vector {
    std::vector<resource_id> const& resources() const noexcept;
};
struct resources_not_const {
    std::span<resource_id const> resources() noexcept;
};
struct resources_may_throw {
    std::span<resource_id const> resources() const;
};
struct resources_of_another_type {
    std::span<int const> resources() const noexcept;
};
struct resources_only_one {
    resource_id resources() const noexcept;
};
static_assert(ration::has_resources<resources_as_vector>);
static_assert(!ration::has_resources<nothing>);
static_assert(!ration::has_resources<resources_not_const>);
static_assert(!ration::has_resources<resources_may_throw>);
static_assert(!ration::has_resources<resources_of_another_type>);
static_assert(!ration::has_resources<resources_only_one>);

// observe(job)
struct observe_may_throw {
    result<observation> observe(job_id);
};
struct observe_without_errors {
    observation observe(job_id) noexcept;
};
struct observe_all_at_once {
    result<observation> observe() noexcept;
};
struct observe_by_name {
    result<observation> observe(std::string_view) noexcept;
};
class observe_hidden {
    result<observation> observe(job_id) noexcept;
};
static_assert(!ration::can_observe<nothing>);
static_assert(!ration::can_observe<observe_may_throw>);
static_assert(!ration::can_observe<observe_without_errors>);
static_assert(!ration::can_observe<observe_all_at_once>);
static_assert(!ration::can_observe<observe_by_name>);
static_assert(!ration::can_observe<observe_hidden>);

// plan(setting, plan)
struct plan_may_throw {
    using operation = op;
    result<void> plan(setting const&, ration::plan<op>&);
};
struct plan_without_errors {
    using operation = op;
    void plan(setting const&, ration::plan<op>&) noexcept;
};
struct plan_by_return {
    using operation = op;
    result<ration::plan<op>> plan(setting const&) noexcept;
};
struct plan_of_other_operations {
    using operation = op;
    result<void> plan(setting const&, ration::plan<int>&) noexcept;
};
struct plan_changes_the_setting {
    using operation = op;
    result<void> plan(setting&, ration::plan<op>&) noexcept;
};
struct plan_without_operation {
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
};
static_assert(!ration::can_plan<nothing>);
static_assert(!ration::can_plan<plan_may_throw>);
static_assert(!ration::can_plan<plan_without_errors>);
static_assert(!ration::can_plan<plan_by_return>);
static_assert(!ration::can_plan<plan_of_other_operations>);
static_assert(!ration::can_plan<plan_changes_the_setting>);
static_assert(!ration::can_plan<plan_without_operation>);

// apply(op), verify(op), undo(op), describe(op): each left out, and each with one edit.
struct applies {
    using operation = op;
    result<void> apply(op const&) noexcept;
    result<void> verify(op const&) noexcept;
    result<void> undo(op const&) noexcept;
    operation_text describe(op const&) noexcept;
};
static_assert(ration::can_apply<applies>);
static_assert(!ration::can_apply<nothing>);

struct no_apply : applies {
    void apply(op const&) = delete;
};
struct no_verify : applies {
    void verify(op const&) = delete;
};
struct no_undo : applies {
    void undo(op const&) = delete;
};
struct no_describe : applies {
    void describe(op const&) = delete;
};
static_assert(!ration::can_apply<no_apply>);
static_assert(!ration::can_apply<no_verify>);
static_assert(!ration::can_apply<no_undo>);
static_assert(!ration::can_apply<no_describe>);

struct apply_may_throw : applies {
    result<void> apply(op const&);
};
struct verify_may_throw : applies {
    result<void> verify(op const&);
};
struct undo_may_throw : applies {
    result<void> undo(op const&);
};
struct describe_may_throw : applies {
    operation_text describe(op const&);
};
static_assert(!ration::can_apply<apply_may_throw>);
static_assert(!ration::can_apply<verify_may_throw>);
static_assert(!ration::can_apply<undo_may_throw>);
static_assert(!ration::can_apply<describe_may_throw>);

struct apply_says_yes_or_no : applies {
    bool apply(op const&) noexcept;
};
struct verify_says_yes_or_no : applies {
    bool verify(op const&) noexcept;
};
struct undo_says_nothing : applies {
    void undo(op const&) noexcept;
};
struct describe_as_text : applies {
    std::string_view describe(op const&) noexcept;
};
static_assert(!ration::can_apply<apply_says_yes_or_no>);
static_assert(!ration::can_apply<verify_says_yes_or_no>);
static_assert(!ration::can_apply<undo_says_nothing>);
static_assert(!ration::can_apply<describe_as_text>);

struct apply_uses_up_the_operation : applies {
    result<void> apply(op&) noexcept;
};
struct undo_uses_up_the_operation : applies {
    result<void> undo(op&&) noexcept;
};
struct operation_not_named {
    result<void> apply(op const&) noexcept;
    result<void> verify(op const&) noexcept;
    result<void> undo(op const&) noexcept;
    operation_text describe(op const&) noexcept;
};
static_assert(!ration::can_apply<apply_uses_up_the_operation>);
static_assert(!ration::can_apply<undo_uses_up_the_operation>);
static_assert(!ration::can_apply<operation_not_named>);

// The conjunction needs every part.
struct without_tag : applies {
    std::span<resource_id const> resources() const noexcept;
    result<observation> observe(job_id) noexcept;
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
};
struct without_resources : applies {
    using backend_concept = backend_tag;
    result<observation> observe(job_id) noexcept;
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
};
struct without_observe : applies {
    using backend_concept = backend_tag;
    std::span<resource_id const> resources() const noexcept;
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
};
struct without_plan : applies {
    using backend_concept = backend_tag;
    std::span<resource_id const> resources() const noexcept;
    result<observation> observe(job_id) noexcept;
};
struct without_apply {
    using backend_concept = backend_tag;
    using operation = op;
    std::span<resource_id const> resources() const noexcept;
    result<observation> observe(job_id) noexcept;
    result<void> plan(setting const&, ration::plan<op>&) noexcept;
};
static_assert(!ration::Backend<without_tag>);
static_assert(!ration::Backend<without_resources>);
static_assert(!ration::Backend<without_observe>);
static_assert(!ration::Backend<without_plan>);
static_assert(!ration::Backend<without_apply>);

}  // namespace backend_near_misses
