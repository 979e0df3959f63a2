// SPDX-License-Identifier: BSL-1.0
/// The version of ration. This file is the only place where the number is written; CMake and the package recipes read
/// it from here.
#pragma once

#define RATION_VERSION_MAJOR 0
#define RATION_VERSION_MINOR 1
#define RATION_VERSION_PATCH 0
