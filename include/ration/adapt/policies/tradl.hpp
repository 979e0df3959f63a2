// SPDX-License-Identifier: BSL-1.0
/// The parameters of `tradl`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/tradl.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::tradl_parameters, alpha, dead_band, scenario, strict);
