// SPDX-License-Identifier: BSL-1.0
/// For authors of backends: a failed allocation becomes an error and does not end the scheduler around the backend
/// (docs/adr/0021).
#pragma once

#include <new>
#include <string_view>

#include <ration/result.hpp>

namespace ration {

[[nodiscard]] inline error out_of_memory(char const* operation, std::string_view subject = {}) noexcept {
    return {.code = errc::no_memory,
            .operation = operation,
            .subject = subject,
            .remedy = "free memory on this machine, or raise the limit of this process, and try again"};
}

/// The `result` that `action()` returns, or `errc::no_memory` if an allocation in it fails. `operation` is static text.
/// The action must leave its objects consistent when an exception passes through.
template <class Action>
[[nodiscard]] auto or_no_memory(char const* operation, std::string_view subject, Action action) noexcept
    -> decltype(action()) {
    try {
        return action();
    } catch (std::bad_alloc const&) {
        return out_of_memory(operation, subject);
    }
}

}  // namespace ration
