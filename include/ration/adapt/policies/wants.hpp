// SPDX-License-Identifier: BSL-1.0
/// The parameters of `wants`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/wants.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::wants_parameters, round, levels_first);
