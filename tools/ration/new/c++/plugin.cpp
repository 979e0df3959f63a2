// SPDX-License-Identifier: BSL-1.0
// Makes the policy a .so. To link the policy into another program, include policy.hpp and leave this file out.
#include <ration/plugin/export.hpp>

#include "policy.hpp"

RATION_EXPORT_POLICY(my_policy)
