// SPDX-License-Identifier: BSL-1.0
/// The parameters of `fair_tree`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/fair_tree.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::fair_tree_parameters, backfill);
