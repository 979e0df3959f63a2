// SPDX-License-Identifier: BSL-1.0
/// The parameters of all of ration's own policies, adapted: for a program that configures policies by
/// name. Each header compiles its policy, so a plugin includes the header of one policy
/// (docs/architecture.md).
#pragma once

#include <ration/adapt/policies/afs.hpp>
#include <ration/adapt/policies/drf.hpp>
#include <ration/adapt/policies/edf.hpp>
#include <ration/adapt/policies/elastic_batch_dp.hpp>
#include <ration/adapt/policies/fair_queue.hpp>
#include <ration/adapt/policies/fair_tree.hpp>
#include <ration/adapt/policies/fifo.hpp>
#include <ration/adapt/policies/flowcon.hpp>
#include <ration/adapt/policies/gang.hpp>
#include <ration/adapt/policies/gittins.hpp>
#include <ration/adapt/policies/good_enough.hpp>
#include <ration/adapt/policies/las.hpp>
#include <ration/adapt/policies/loss_delta_ratio.hpp>
#include <ration/adapt/policies/max_min.hpp>
#include <ration/adapt/policies/optimus.hpp>
#include <ration/adapt/policies/pack.hpp>
#include <ration/adapt/policies/phase_limits.hpp>
#include <ration/adapt/policies/pollux.hpp>
#include <ration/adapt/policies/save_by_age.hpp>
#include <ration/adapt/policies/shared_cache.hpp>
#include <ration/adapt/policies/sia.hpp>
#include <ration/adapt/policies/sjf.hpp>
#include <ration/adapt/policies/spread.hpp>
#include <ration/adapt/policies/srtf.hpp>
#include <ration/adapt/policies/tradl.hpp>
#include <ration/adapt/policies/wants.hpp>
