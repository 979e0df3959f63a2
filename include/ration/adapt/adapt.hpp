// SPDX-License-Identifier: BSL-1.0
/// Boost.Hana at work for people's own structs: their jobs, their tables of jobs, and the parameters of their policies.
#pragma once

// IWYU pragma: begin_exports
#include <ration/adapt/jobs.hpp>
#include <ration/adapt/parameters.hpp>
#include <ration/adapt/table.hpp>
// IWYU pragma: end_exports
