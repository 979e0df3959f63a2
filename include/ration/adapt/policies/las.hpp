// SPDX-License-Identifier: BSL-1.0
/// The parameters of `las`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/las.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::las_parameters, first_threshold, second_threshold, promote, tenants);
