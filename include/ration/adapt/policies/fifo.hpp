// SPDX-License-Identifier: BSL-1.0
/// The parameters of `fifo`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/fifo.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::fifo_parameters, backfill, tenants);
