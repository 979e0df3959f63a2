// SPDX-License-Identifier: BSL-1.0
/// A planned change of one job, whichever part of the program planned it.
#pragma once

#include <memory>
#include <utility>

#include <ration/host/backend.hpp>
#include <ration/host/plan.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Errors: those of the part that planned the change.
class job_operation {
public:
    virtual ~job_operation() = default;
    [[nodiscard]] virtual result<void> apply() noexcept = 0;
    /// Reads the value back. An operation that takes effect after the tick succeeds.
    [[nodiscard]] virtual result<void> verify() noexcept = 0;
    [[nodiscard]] virtual result<void> undo() noexcept = 0;
    [[nodiscard]] virtual operation_text describe() const noexcept = 0;
};

/// Move-only. The part that planned the operation outlives it.
using job_plan = plan<std::unique_ptr<job_operation>>;

/// An operation of the backend `B`.
template <Backend B>
class backend_operation final : public job_operation {
    B& backend_;
    typename B::operation what_;

public:
    backend_operation(B& backend, typename B::operation what) noexcept : backend_(backend), what_(std::move(what)) {}
    [[nodiscard]] result<void> apply() noexcept override { return backend_.apply(what_); }
    [[nodiscard]] result<void> verify() noexcept override { return backend_.verify(what_); }
    [[nodiscard]] result<void> undo() noexcept override { return backend_.undo(what_); }
    [[nodiscard]] operation_text describe() const noexcept override { return backend_.describe(what_); }
};

/// Appends what `backend` plans for the setting. Errors: those of its `plan`.
template <Backend B>
[[nodiscard]] result<void> plan_by(B& backend, setting const& wanted, job_plan& out) {
    plan<typename B::operation> own;
    auto const planned = backend.plan(wanted, own);
    for (auto& operation : own) out.push_back(std::make_unique<backend_operation<B>>(backend, std::move(operation)));
    return planned;
}

/// Plans, applies and verifies a setting outside of a tick. Errors: the first of these.
template <Backend B>
[[nodiscard]] result<void> put_in_force(B& backend, setting const& wanted) {
    plan<typename B::operation> operations;
    auto done = backend.plan(wanted, operations);
    for (auto const& operation : operations) {
        if (done) done = backend.apply(operation);
        if (done) done = backend.verify(operation);
    }
    return done;
}

}  // namespace ration::program
