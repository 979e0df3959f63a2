// SPDX-License-Identifier: BSL-1.0
/// The parameters of `shared_cache`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/shared_cache.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::shared_cache_parameters, mode, round);
