// SPDX-License-Identifier: BSL-1.0
/// The public core in one include.
#pragma once

// IWYU pragma: begin_exports
#include <ration/allocate.hpp>
#include <ration/assert.hpp>
#include <ration/backend.hpp>
#include <ration/buffer.hpp>
#include <ration/check.hpp>
#include <ration/checked_grant.hpp>
#include <ration/column.hpp>
#include <ration/decider.hpp>
#include <ration/engine.hpp>
#include <ration/grant.hpp>
#include <ration/holdings.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/ledger.hpp>
#include <ration/meter.hpp>
#include <ration/plan.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/settle.hpp>
#include <ration/snapshot.hpp>
#include <ration/standard_columns.hpp>
#include <ration/supply.hpp>
#include <ration/target.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>
#include <ration/version.hpp>
// IWYU pragma: end_exports
