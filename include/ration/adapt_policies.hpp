// SPDX-License-Identifier: BSL-1.0
/// The parameters of ration's own policies, adapted.
#pragma once

#include <ration/adapt.hpp>
#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/tradl.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::tradl_parameters, alpha, dead_band, scenario);
BOOST_HANA_ADAPT_STRUCT(ration::policies::loss_delta_ratio_parameters, window, gamma, epsilon, normalised, direction, residence, aging);
BOOST_HANA_ADAPT_STRUCT(ration::policies::elastic_batch_dp_parameters, interval, overflow, overtake, restart_penalty, horizon, devices,
                        steps);
