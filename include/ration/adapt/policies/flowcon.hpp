// SPDX-License-Identifier: BSL-1.0
/// The parameters of `flowcon`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/flowcon.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::flowcon_parameters, alpha, interval);
