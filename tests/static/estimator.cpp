// SPDX-License-Identifier: BSL-1.0
// Each named part of Estimator: a model, and near misses one edit away from it.
#include <ration/estimator.hpp>

namespace estimator_near_misses {

using ration::columns;
using ration::estimates;
using ration::estimator_tag;
using ration::in;
using ration::meta;
using ration::out;
using ration::out_rows;
using ration::status;
using ration::tick;

struct model {
    using estimator_concept = estimator_tag;
    using inputs = columns<in<double, "jobs/loss">>;
    using outputs = columns<out<double, "jobs/remaining">>;
    static constexpr meta about{.id = "org.example.model", .version = "1.0.0"};
    void estimate(tick<inputs> const&, estimates<outputs> const&) noexcept;
};
static_assert(ration::Estimator<model> && !ration::has_prepare<model> && !ration::has_state<model>);
static_assert(!ration::Estimator<int>);

// The tag. A policy does not model Estimator.
struct nothing {};
struct wrong_tag {
    using estimator_concept = ration::policy_tag;
};
class private_tag {
    using estimator_concept = estimator_tag;
};
static_assert(!ration::has_estimator_tag<nothing>);
static_assert(!ration::has_estimator_tag<wrong_tag>);
static_assert(!ration::has_estimator_tag<private_tag>);

// outputs
struct outputs_no_list {
    using outputs = out<double, "jobs/remaining">;
};
struct outputs_empty {
    using outputs = columns<>;
};
struct outputs_that_are_inputs {
    using outputs = columns<in<double, "jobs/remaining">>;
};
struct outputs_partly_inputs {
    using outputs = columns<out<double, "jobs/remaining">, in<double, "jobs/loss">>;
};
struct outputs_of_two_columns {
    using outputs = columns<out<double, "jobs/remaining">, out<double, "jobs/total_steps">>;
};
struct outputs_of_its_own {
    using outputs = columns<out<float, "jobs/mood">>;
};
struct outputs_with_a_vector {
    using outputs = columns<out<double, "jobs/remaining">, out_rows<double, "jobs/goodput">>;
};
struct outputs_partly_vector_inputs {
    using outputs = columns<out_rows<double, "jobs/goodput">, ration::in_rows<double, "jobs/speedup">>;
};
static_assert(!ration::has_outputs<nothing>);
static_assert(!ration::has_outputs<outputs_no_list>);
static_assert(!ration::has_outputs<outputs_empty>);
static_assert(!ration::has_outputs<outputs_that_are_inputs>);
static_assert(!ration::has_outputs<outputs_partly_inputs>);
static_assert(!ration::has_outputs<outputs_partly_vector_inputs>);
static_assert(ration::has_outputs<outputs_of_two_columns> && ration::has_outputs<outputs_of_its_own>);
static_assert(ration::has_outputs<outputs_with_a_vector>);

// estimate
struct columns_only {
    using inputs = columns<in<double, "jobs/loss">>;
    using outputs = columns<out<double, "jobs/remaining">>;
};
struct estimate_may_throw : columns_only {
    void estimate(tick<inputs> const&, estimates<outputs> const&);
};
struct estimate_returns_a_status : columns_only {
    status estimate(tick<inputs> const&, estimates<outputs> const&) noexcept;
};
struct estimate_of_other_inputs : columns_only {
    void estimate(tick<columns<in<double, "jobs/loss.best">>> const&, estimates<outputs> const&) noexcept;
};
struct estimate_of_other_outputs : columns_only {
    void estimate(tick<inputs> const&, estimates<columns<out<double, "jobs/total_steps">>> const&) noexcept;
};
struct estimate_changes_the_tick : columns_only {
    void estimate(tick<inputs>&, estimates<outputs> const&) noexcept;
};
struct estimate_without_outputs : columns_only {
    void estimate(tick<inputs> const&) noexcept;
};
class estimate_hidden : public columns_only {
    void estimate(tick<inputs> const&, estimates<outputs> const&) noexcept;
};
struct estimate_by_value : columns_only {
    void estimate(tick<inputs>, estimates<outputs>) noexcept;
};
static_assert(!ration::has_noexcept_estimate<columns_only>);
static_assert(!ration::has_noexcept_estimate<estimate_may_throw>);
static_assert(!ration::has_noexcept_estimate<estimate_returns_a_status>);
static_assert(!ration::has_noexcept_estimate<estimate_of_other_inputs>);
static_assert(!ration::has_noexcept_estimate<estimate_of_other_outputs>);
static_assert(!ration::has_noexcept_estimate<estimate_changes_the_tick>);
static_assert(!ration::has_noexcept_estimate<estimate_without_outputs>);
static_assert(!ration::has_noexcept_estimate<estimate_hidden>);
static_assert(ration::has_noexcept_estimate<estimate_by_value>);

// The conjunction needs every part.
struct without_tag : columns_only {
    static constexpr meta about{.id = "x", .version = "1"};
    void estimate(tick<inputs> const&, estimates<outputs> const&) noexcept;
};
struct without_about : columns_only {
    using estimator_concept = estimator_tag;
    void estimate(tick<inputs> const&, estimates<outputs> const&) noexcept;
};
struct without_inputs {
    using estimator_concept = estimator_tag;
    using outputs = columns_only::outputs;
    static constexpr meta about{.id = "x", .version = "1"};
    void estimate(tick<columns<>> const&, estimates<outputs> const&) noexcept;
};
struct without_outputs {
    using estimator_concept = estimator_tag;
    using inputs = columns_only::inputs;
    static constexpr meta about{.id = "x", .version = "1"};
    void estimate(tick<inputs> const&, estimates<columns_only::outputs> const&) noexcept;
};
struct without_estimate : columns_only {
    using estimator_concept = estimator_tag;
    static constexpr meta about{.id = "x", .version = "1"};
};
static_assert(!ration::Estimator<without_tag>);
static_assert(!ration::Estimator<without_about>);
static_assert(!ration::Estimator<without_inputs>);
static_assert(!ration::Estimator<without_outputs>);
static_assert(!ration::Estimator<without_estimate>);

}  // namespace estimator_near_misses
