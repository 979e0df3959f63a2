// SPDX-License-Identifier: BSL-1.0
/// The parameters of `spread`, adapted. They are those of `pack`.
#pragma once

#include <ration/adapt/policies/pack.hpp>
#include <ration/policies/spread.hpp>
