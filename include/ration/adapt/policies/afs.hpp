// SPDX-License-Identifier: BSL-1.0
/// The parameters of `afs`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/afs.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::division_parameters, interval, at_changes);
