// SPDX-License-Identifier: BSL-1.0
/// The parameters of `pack`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/pack.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::learner_parameters, learner, give_up, tenants);
