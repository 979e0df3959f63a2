// SPDX-License-Identifier: BSL-1.0
// The class of counter.hpp as a plugin.
#include "counter.hpp"

#include <ration/plugin/export.hpp>

RATION_EXPORT_POLICY(test_policies::counter)
