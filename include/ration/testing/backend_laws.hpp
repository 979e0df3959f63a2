// SPDX-License-Identifier: BSL-1.0
/// The laws of Backend as a check that users run on their own backend.
#pragma once

#include <cstddef>
#include <span>

#include <ration/host/backend.hpp>
#include <ration/testing/broken_law.hpp>

namespace ration::testing {

namespace detail {

/// Errors that are no broken law, but without which a law cannot be seen: passed on as they are.
template <Backend B>
[[nodiscard]] result<void> apply_all(B& backend, plan<typename B::operation> const& operations) noexcept {
    for (auto const& op : operations) {
        if (auto ok = backend.apply(op); !ok) return ok;
        if (auto ok = backend.verify(op); !ok)
            return broken_law("Backend law 1: after apply() succeeded, verify() succeeds",
                              backend.describe(op).subject.view());
    }
    return {};
}

template <Backend B>
[[nodiscard]] result<void> undo_all(B& backend, plan<typename B::operation> const& operations) noexcept {
    for (std::size_t i = operations.size(); i-- > 0;)
        if (auto ok = backend.undo(operations[i]); !ok) return ok;
    return {};
}

/// True when both plans begin at the same values and lead to the same values.
template <Backend B>
[[nodiscard]] bool same_plan(B& backend, plan<typename B::operation> const& a,
                             plan<typename B::operation> const& b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        operation_text const x = backend.describe(a[i]), y = backend.describe(b[i]);
        if (!(x.subject == y.subject && x.old_value == y.old_value && x.new_value == y.new_value)) return false;
    }
    return true;
}

template <Backend B>
[[nodiscard]] result<void> one_setting(B& backend, setting const& wanted) noexcept {
    plan<typename B::operation> first, again, none;
    if (auto ok = backend.plan(wanted, first); !ok) return ok;
    if (auto ok = apply_all(backend, first); !ok) return ok;
    if (auto ok = undo_all(backend, first); !ok) return ok;
    if (auto ok = backend.plan(wanted, again); !ok) return ok;
    if (!same_plan(backend, first, again))
        return broken_law("Backend law 2: apply() then undo() leaves what plan() found",
                          first.empty() ? "an empty plan" : backend.describe(first.front()).subject.view());
    if (auto ok = apply_all(backend, again); !ok) return ok;
    if (auto ok = backend.plan(wanted, none); !ok) return ok;
    if (!none.empty())
        return broken_law("Backend law 3: plan() of a setting that is in force appends nothing",
                          backend.describe(none.front()).subject.view());
    return {};
}

}  // namespace detail

/// The laws of Backend. The jobs of `settings` must be known to the backend, `unknown` must not; each setting is put
/// into force and stays so. Give at least one that changes something, twice the same job among them.
template <Backend B>
[[nodiscard]] result<void> backend_laws(B& backend, job_id unknown, std::span<setting const> settings) noexcept {
    constexpr auto* law = "Backend law 4: an unknown job is errc::not_found";
    auto const seen_by = backend.observe(unknown);
    if (seen_by || seen_by.failure().code != errc::not_found) return broken_law(law, "observe");
    for (auto const r : std::span<resource_id const>(backend.resources())) {
        plan<typename B::operation> operations;
        auto const planned = backend.plan({.job = unknown, .node = 0, .resource = r, .amount = 1}, operations);
        if (planned || planned.failure().code != errc::not_found) return broken_law(law, "plan");
    }
    for (auto const& s : settings)
        if (auto ok = detail::one_setting(backend, s); !ok) return ok;
    return {};
}

}  // namespace ration::testing
