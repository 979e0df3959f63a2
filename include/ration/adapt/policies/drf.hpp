// SPDX-License-Identifier: BSL-1.0
/// The parameters of `drf`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/drf.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::drf_parameters, backfill);
