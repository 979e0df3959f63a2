// SPDX-License-Identifier: BSL-1.0
/// The parameters of `save_by_age`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/save_by_age.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::save_by_age_parameters, longest, shortest);
