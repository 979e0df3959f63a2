// SPDX-License-Identifier: BSL-1.0
/// The parameters of a policy as a JSON object, as event logs and workers have them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace ration::program {

/// One flat object; an empty text for null. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string as_json(policy_parameters const* given);

/// The members of an object, without places. Members that no parameter can have are left out; of another value than
/// an object, all.
[[nodiscard]] std::vector<parameter> parameters_in(nlohmann::json const& object);

}  // namespace ration::program
