// SPDX-License-Identifier: BSL-1.0
/// The parameters of `phase_limits`, adapted.
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/phase_limits.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::phase_limits_parameters, interval, cpu_margin, memory_margin, limit_memory);
