// SPDX-License-Identifier: BSL-1.0
/// The parameters of `good_enough`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/good_enough.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::good_enough_parameters, interval, at_changes, reached, patience,
                        restart_penalty);
