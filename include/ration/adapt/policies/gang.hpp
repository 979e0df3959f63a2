// SPDX-License-Identifier: BSL-1.0
/// The parameters of `gang`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/gang.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::gang_parameters, learner, placement, backfill, tenants);
