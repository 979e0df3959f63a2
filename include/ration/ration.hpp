// SPDX-License-Identifier: BSL-1.0
/// The public core in one include, for programs that do not count compile time.
///
/// It contains what authors of schedulers, policies, hosts and backends need: allocate, policy,
/// engine. Levels (level.hpp), policies (policies/), the simulator (sim/), adapters of structs (adapt/),
/// plugins (plugin/) and backends are included one by one.
#pragma once

// IWYU pragma: begin_exports
#include <ration/allocate.hpp>
#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/column.hpp>
#include <ration/column_adapter.hpp>
#include <ration/grant.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/host/backend.hpp>
#include <ration/host/check.hpp>
#include <ration/host/checked_grant.hpp>
#include <ration/host/engine.hpp>
#include <ration/host/holdings.hpp>
#include <ration/host/ledger.hpp>
#include <ration/host/meter.hpp>
#include <ration/host/plan.hpp>
#include <ration/host/settle.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>
#include <ration/snapshot.hpp>
#include <ration/target.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>
#include <ration/version.hpp>
// IWYU pragma: end_exports
