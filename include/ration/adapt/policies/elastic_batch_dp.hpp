// SPDX-License-Identifier: BSL-1.0
/// The parameters of `elastic_batch_dp`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/elastic_batch_dp.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::elastic_batch_dp_parameters, interval, at_changes, overflow, overtake,
                        restart_penalty, horizon, devices, steps, heed_wants);
