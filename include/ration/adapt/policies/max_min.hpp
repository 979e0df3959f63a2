// SPDX-License-Identifier: BSL-1.0
/// The parameters of `max_min`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/max_min.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::max_min_parameters, round, by_tenant, heed_wants, levels_first);
