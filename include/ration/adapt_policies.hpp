// SPDX-License-Identifier: BSL-1.0
/// The parameters of ration's own policies, adapted.
#pragma once

#include <ration/adapt.hpp>
#include <ration/policies/tradl.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::tradl_parameters, alpha, dead_band, scenario);
