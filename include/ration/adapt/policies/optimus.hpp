// SPDX-License-Identifier: BSL-1.0
/// The parameters of `optimus`, adapted. They are those of `afs`.
#pragma once

#include <ration/adapt/policies/afs.hpp>
#include <ration/policies/optimus.hpp>
