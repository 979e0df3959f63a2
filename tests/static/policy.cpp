// SPDX-License-Identifier: BSL-1.0
// Each named part of Policy: a model, and near misses one edit away from it.
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/policy.hpp>

namespace policy_near_misses {

using ration::columns;
using ration::grants;
using ration::in;
using ration::meta;
using ration::policy_tag;
using ration::status;
using ration::tick;

struct model {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">>;
    static constexpr meta about{.id = "org.example.model", .version = "1.0.0"};
    status decide(tick<inputs> const&, grants&) noexcept;
};
static_assert(ration::has_policy_tag<model> && ration::has_about<model> && ration::has_inputs<model> &&
              ration::has_noexcept_decide<model>);
static_assert(ration::Policy<model> && !ration::has_prepare<model>);
static_assert(!ration::Policy<int>);

// The tag.
struct nothing {};
struct wrong_tag {
    using policy_concept = struct policy_tag {};
};
class private_tag {
    using policy_concept = policy_tag;
};
static_assert(!ration::has_policy_tag<nothing>);
static_assert(!ration::has_policy_tag<wrong_tag>);
static_assert(!ration::has_policy_tag<private_tag>);

// about
struct about_not_static {
    meta about{.id = "x", .version = "1"};
};
struct about_not_const {
    static inline meta about{.id = "x", .version = "1"};
};
inline meta made_at_run_time() { return {.id = "x", .version = "1"}; }
struct about_not_constant {
    static inline meta const about = made_at_run_time();
};
struct about_of_another_type {
    static constexpr std::string_view about = "x";
};
struct about_function {
    static constexpr meta about() { return {.id = "x", .version = "1"}; }
};
class about_hidden {
    static constexpr meta about{.id = "x", .version = "1"};
};
inline constexpr meta shared{.id = "x", .version = "1"};
struct about_by_reference {
    static constexpr meta const& about = shared;
};
static_assert(ration::has_about<about_by_reference>);
static_assert(!ration::has_about<nothing>);
static_assert(!ration::has_about<about_not_static>);
static_assert(!ration::has_about<about_not_const>);
static_assert(!ration::has_about<about_not_constant>);
static_assert(!ration::has_about<about_of_another_type>);
static_assert(!ration::has_about<about_function>);
static_assert(!ration::has_about<about_hidden>);

// inputs
struct inputs_empty {
    using inputs = columns<>;
};
struct inputs_not_columns {
    using inputs = in<std::uint64_t, "jobs/id">;
};
struct inputs_that_only_count {
    struct inputs {
        static constexpr std::size_t count = 0;
    };
};
struct inputs_as_member {
    columns<> inputs;
};
class inputs_hidden {
    using inputs = columns<>;
};
static_assert(ration::has_inputs<inputs_empty>);
static_assert(!ration::has_inputs<nothing>);
static_assert(!ration::has_inputs<inputs_not_columns>);
static_assert(!ration::has_inputs<inputs_that_only_count>);
static_assert(!ration::has_inputs<inputs_as_member>);
static_assert(!ration::has_inputs<inputs_hidden>);

// decide(tick, grants)
struct decide_may_throw : inputs_empty {
    status decide(tick<inputs> const&, grants&);
};
struct decide_returns_nothing : inputs_empty {
    void decide(tick<inputs> const&, grants&) noexcept;
};
struct decide_returns_a_number : inputs_empty {
    int decide(tick<inputs> const&, grants&) noexcept;
};
struct decide_changes_the_tick : inputs_empty {
    status decide(tick<inputs>&, grants&) noexcept;
};
struct decide_takes_the_grants : inputs_empty {
    status decide(tick<inputs> const&, grants&&) noexcept;
};
struct decide_of_other_inputs : inputs_empty {
    status decide(tick<model::inputs> const&, grants&) noexcept;
};
struct decide_without_grants : inputs_empty {
    status decide(tick<inputs> const&) noexcept;
};
class decide_hidden : public inputs_empty {
    status decide(tick<inputs> const&, grants&) noexcept;
};
struct decide_const : inputs_empty {
    status decide(tick<inputs> const&, grants&) const noexcept;
};
struct decide_by_value : inputs_empty {
    status decide(tick<inputs>, grants&) noexcept;
};
static_assert(ration::has_noexcept_decide<decide_const>);
static_assert(ration::has_noexcept_decide<decide_by_value>);
static_assert(!ration::has_noexcept_decide<inputs_empty>);
static_assert(!ration::has_noexcept_decide<decide_may_throw>);
static_assert(!ration::has_noexcept_decide<decide_returns_nothing>);
static_assert(!ration::has_noexcept_decide<decide_returns_a_number>);
static_assert(!ration::has_noexcept_decide<decide_changes_the_tick>);
static_assert(!ration::has_noexcept_decide<decide_takes_the_grants>);
static_assert(!ration::has_noexcept_decide<decide_of_other_inputs>);
static_assert(!ration::has_noexcept_decide<decide_without_grants>);
static_assert(!ration::has_noexcept_decide<decide_hidden>);

// prepare(limits), which is optional
struct prepares {
    status prepare(ration::limits const&) noexcept;
};
struct prepare_by_value {
    status prepare(ration::limits) noexcept;
};
struct prepare_may_throw {
    status prepare(ration::limits const&);
};
struct prepare_returns_nothing {
    void prepare(ration::limits const&) noexcept;
};
struct prepare_changes_the_limits {
    status prepare(ration::limits&) noexcept;
};
static_assert(ration::has_prepare<prepares> && ration::has_prepare<prepare_by_value>);
static_assert(!ration::has_prepare<prepare_may_throw>);
static_assert(!ration::has_prepare<prepare_returns_nothing>);
static_assert(!ration::has_prepare<prepare_changes_the_limits>);

// The conjunction needs every part.
struct without_tag {
    using inputs = columns<>;
    static constexpr meta about{.id = "x", .version = "1"};
    status decide(tick<inputs> const&, grants&) noexcept;
};
struct without_about {
    using policy_concept = policy_tag;
    using inputs = columns<>;
    status decide(tick<inputs> const&, grants&) noexcept;
};
struct without_inputs {
    using policy_concept = policy_tag;
    static constexpr meta about{.id = "x", .version = "1"};
    status decide(tick<columns<>> const&, grants&) noexcept;
};
struct without_decide {
    using policy_concept = policy_tag;
    using inputs = columns<>;
    static constexpr meta about{.id = "x", .version = "1"};
};
static_assert(!ration::Policy<without_tag>);
static_assert(!ration::Policy<without_about>);
static_assert(!ration::Policy<without_inputs>);
static_assert(!ration::Policy<without_decide>);

// A reason is the policy's own words, and nothing beyond the last of them.
static_assert(ration::policies::none::about.reason(1) == ration::policies::none::reasons[1]);
static_assert(ration::policies::none::about.reason(2).empty() && ration::policies::none::about.reason(65535).empty());
static_assert(ration::policies::tradl::about.reason(ration::policies::tradl::objective) ==
              "Objective reached: released");
static_assert(ration::policies::tradl::about.reasons.size() == ration::policies::tradl::objective + 1);
static_assert(ration::Policy<ration::policies::equal_share> && ration::Policy<ration::policies::none>);

}  // namespace policy_near_misses
