// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include <ration/result.hpp>

namespace laws {

/// The law that a check found broken: the beginning of its name, "Target law 2". Empty when all were kept.
[[nodiscard]] inline std::string broken(ration::result<void> const& verdict) {
    if (verdict) return {};
    std::string_view const reply = verdict.failure().operation;
    return std::string(reply.substr(0, reply.find(':')));
}

}  // namespace laws
