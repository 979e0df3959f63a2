// SPDX-License-Identifier: BSL-1.0
/// The parameters of `srtf`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/srtf.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::srtf_parameters, measure, unknown, tenants);
