// SPDX-License-Identifier: BSL-1.0
/// Parameters of a policy: what the struct says of its members, and the access that ration/adapt/adapt.hpp adds to an
/// adapted one.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include <ration/result.hpp>

namespace ration {

/// What a parameters struct may say of a member: `static constexpr ration::parameter_note notes[] = {{"alpha", "...",
/// 0, 1}};` The interval is closed; `problem()` says what it cannot.
struct parameter_note {
    std::string_view name;
    std::string_view meaning;
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
};

/// Reads and describes a parameters struct. The primary template knows nothing; ration/adapt/adapt.hpp has one for all
/// structs that BOOST_HANA_ADAPT_STRUCT knows, with `schema()` (constexpr JSON schema) and `read(json, message)`.
template <class Parameters>
struct parameter_access;

template <class Parameters>
concept adapted_parameters = requires { sizeof(parameter_access<Parameters>); };

}  // namespace ration
