// SPDX-License-Identifier: BSL-1.0
// Makes the policy a .so. Who links the policy into a program of their own includes policy.hpp and leaves this out.
#include <ration/plugin/export.hpp>

#include "policy.hpp"

RATION_EXPORT_POLICY(my_policy)
