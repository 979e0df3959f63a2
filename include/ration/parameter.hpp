// SPDX-License-Identifier: BSL-1.0
/// Parameters of a policy: the notes that a parameters struct can have, and the access that
/// ration/adapt adds.
///
/// Policies include only this header, so they do not depend on Boost.Hana. The program and the
/// plugins include ration/adapt/adapt.hpp, which reads configurations and makes JSON schemas from
/// the same struct.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include <ration/result.hpp>

namespace ration {

/// A note about one member of a parameters struct. The interval is closed; `problem()` of the
/// struct checks conditions that an interval cannot express.
///
/// Example: `static constexpr ration::parameter_note notes[] = {{"alpha", "weight of the newest
/// value", 0, 1}};`
struct parameter_note {
    /// The name of the member.
    std::string_view name;
    /// Its meaning, for help texts.
    std::string_view meaning;
    /// The smallest valid value.
    double least = -std::numeric_limits<double>::infinity();
    /// The largest valid value.
    double most = std::numeric_limits<double>::infinity();
};

/// Reads and describes a parameters struct. The primary template is only declared.
/// ration/adapt/adapt.hpp has a specialisation for all structs adapted by BOOST_HANA_ADAPT_STRUCT,
/// with `schema()` (a constexpr JSON schema) and `read(json, message)`.
template <class Parameters>
struct parameter_access;

/// True if the access to this struct is defined, so that it can be configured.
template <class Parameters>
concept adapted_parameters = requires { sizeof(parameter_access<Parameters>); };

}  // namespace ration
