// SPDX-License-Identifier: BSL-1.0
/// The parameters of `gittins`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/gittins.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::gittins_parameters, quantum);
