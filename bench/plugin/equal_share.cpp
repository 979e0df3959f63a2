// SPDX-License-Identifier: BSL-1.0
#include <ration/plugin/export.hpp>
#include <ration/policies/equal_share.hpp>

RATION_EXPORT_POLICY(ration::policies::equal_share)
