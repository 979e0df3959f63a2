// SPDX-License-Identifier: BSL-1.0
/// The parameters of `loss_delta_ratio`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/loss_delta_ratio.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::loss_delta_ratio_parameters, window, gamma, epsilon, normalised, direction,
                        residence, aging, heed_wants);
