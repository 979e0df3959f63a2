// SPDX-License-Identifier: BSL-1.0
/// The parameters of `sia`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/sia.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::sia_parameters, round, at_changes, p, lambda, doubling, steps);
