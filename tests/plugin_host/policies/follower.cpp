// SPDX-License-Identifier: BSL-1.0
// The class of follower.hpp as a plugin.
#include "follower.hpp"

#include <ration/plugin/export.hpp>

RATION_EXPORT_POLICY(test_policies::follower)
