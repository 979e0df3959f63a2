// SPDX-License-Identifier: BSL-1.0
/// The parameters of `pollux`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/pollux.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::pollux_parameters, interval, at_changes, p, restart_penalty);
