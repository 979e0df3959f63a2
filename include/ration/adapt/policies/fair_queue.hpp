// SPDX-License-Identifier: BSL-1.0
/// The parameters of `fair_queue`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/fair_queue.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::fair_queue_parameters, order, backfill);
