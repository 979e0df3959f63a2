// SPDX-License-Identifier: BSL-1.0
/// One tick of the ABI as the core's types, for code that a host asks through the ABI: exported classes (export.hpp),
/// and policies of the worker's own program (host/compiled_in.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/plugin/abi.h>
#include <ration/policy.hpp>

namespace ration::plugin {
namespace detail {

/// The host's list of changed rows as the core has it; empty if the host offers none.
[[nodiscard]] inline changed_rows list_of(ration_changed_rows const* offered) noexcept {
    if (offered == nullptr) return {};
    bool const emits = offered->struct_size > offsetof(ration_changed_rows, written);
    return {.row = offered->row, .capacity = offered->capacity, .written = emits ? offered->written : nullptr};
}

/// Converts the answer of a policy to that of the ABI.
[[nodiscard]] inline std::int32_t finish(status reply, grants const& answer, ration_out& out) noexcept {
    if (reply == status::capacity || answer.overflowed()) {
        out.needed = out.capacity + 1;  // a lower bound: the policy stops at the first row that does not fit
        return RATION_E_CAPACITY;
    }
    out.count = answer.size();
    return static_cast<std::int32_t>(reply);
}

}  // namespace detail

/// The values of a tick; `changes` is the list of changes that the policy goes by, or null.
[[nodiscard]] inline tick_data tick_of(ration_tick const& t, table_changes const* const* changes) noexcept {
    return {.number = t.number,
            .seed = t.seed,
            .now = {t.now_ns},
            .budget = {t.budget_ns},
            .data = {reinterpret_cast<table_view const* const*>(t.table)},
            .changes = changes};
}

/// Answers one tick by `decide(grants&)`, which returns a status. `listed` gets the rows that the policy reports as
/// changed; null if the host does not offer that. Returns a code of the ABI.
template <class Decide>
[[nodiscard]] std::int32_t answer_tick(ration_changed_rows const* listed, ration_out& out, Decide decide) noexcept {
    std::span const space(reinterpret_cast<grant*>(out.grant), out.capacity);
    changed_rows changed = detail::list_of(listed);
    grants answer = listed == nullptr ? grants(space) : grants(space, changed);
    auto const reply = decide(answer);
    if (listed != nullptr) *listed->count = changed.count;
    return detail::finish(reply, answer, out);
}

}  // namespace ration::plugin
