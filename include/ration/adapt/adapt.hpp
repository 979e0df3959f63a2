// SPDX-License-Identifier: BSL-1.0
/// All adapters in one include. Boost.Hana turns users' own structs into jobs, tables of jobs, and
/// parameters of policies.
///
/// jobs.hpp: one struct for each job. table.hpp: one struct whose members are columns.
/// parameters.hpp: the configuration of a policy. The core does not depend on these headers.
#pragma once

// IWYU pragma: begin_exports
#include <ration/adapt/jobs.hpp>
#include <ration/adapt/parameters.hpp>
#include <ration/adapt/table.hpp>
// IWYU pragma: end_exports
