// SPDX-License-Identifier: BSL-1.0
/// The parameters of `sjf`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/sjf.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::sjf_parameters, measure, backfill);
