// SPDX-License-Identifier: BSL-1.0
/// The stage of an engine between observation and decision, as the engine calls it. `estimator_stage` is the one that
/// runs estimators; an engine without it compiles faster.
#pragma once

#include <ration/host/any_policy.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/policy.hpp>
#include <ration/result.hpp>

namespace ration {

/// Computes columns that the host does not fill. The host owns the object; one engine uses it.
class estimation {
public:
    /// Destroys the stage.
    virtual ~estimation() = default;

    /// Called before the policies are bound, and again when one of them changes. It is the only call that may allocate.
    [[nodiscard]] virtual result<void> bind(snapshot_store& store, any_policy const& policy, any_policy const& fallback,
                                            limits const& most) noexcept = 0;
    /// Called before each decision. `t.data` is the view of `store`.
    virtual void run(tick_data const& t, snapshot_store& store) noexcept = 0;

    // Copies only through derived classes, so that no stage is sliced.
protected:
    estimation() = default;
    estimation(estimation const&) = default;
    estimation& operator=(estimation const&) = default;
};

}  // namespace ration
