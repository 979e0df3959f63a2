// SPDX-License-Identifier: BSL-1.0
/// The parameters of `edf`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/edf.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::edf_parameters, rule, interval);
