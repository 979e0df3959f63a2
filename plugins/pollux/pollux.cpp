// SPDX-License-Identifier: BSL-1.0
#include <ration/plugin/export.hpp>
#include <ration/adapt_policies.hpp>

RATION_EXPORT_POLICY(ration::policies::pollux)
