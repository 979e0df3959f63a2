// SPDX-License-Identifier: BSL-1.0
// An engine rolls back what fails half-way: every backend has to be able to.
#include <ration/host/engine.hpp>

struct limiter {
    using backend_concept = ration::backend_tag;
    struct operation {};
    std::span<ration::resource_id const> resources() const noexcept;
    ration::result<ration::observation> observe(ration::job_id) noexcept;
    ration::result<void> plan(ration::setting const&, ration::plan<operation>&) noexcept;
    ration::result<void> apply(operation const&) noexcept;
    ration::result<void> verify(operation const&) noexcept;
#ifndef RATION_MISUSE
    ration::result<void> undo(operation const&) noexcept;
#endif
    ration::operation_text describe(operation const&) noexcept;
};

using engine = ration::engine<limiter>;
