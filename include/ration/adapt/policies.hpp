// SPDX-License-Identifier: BSL-1.0
/// The parameters of ration's own policies, adapted.
///
/// Included where policies are configured by name: the program and the plugins. A policy header
/// alone does not need Boost. A new policy with parameters gets a line here (docs/architecture.md).
#pragma once

#include <ration/adapt/parameters.hpp>
#include <ration/policies/afs.hpp>
#include <ration/policies/drf.hpp>
#include <ration/policies/edf.hpp>
#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/fair_queue.hpp>
#include <ration/policies/fair_tree.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/flowcon.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/phase_limits.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/shared_cache.hpp>
#include <ration/policies/sia.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/policies/wants.hpp>

BOOST_HANA_ADAPT_STRUCT(ration::policies::tradl_parameters, alpha, dead_band, scenario, strict);
BOOST_HANA_ADAPT_STRUCT(ration::policies::loss_delta_ratio_parameters, window, gamma, epsilon, normalised, direction,
                        residence, aging, heed_wants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::elastic_batch_dp_parameters, interval, at_changes, overflow, overtake,
                        restart_penalty, horizon, devices, steps, heed_wants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::fifo_parameters, backfill, tenants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::sjf_parameters, measure, backfill);
BOOST_HANA_ADAPT_STRUCT(ration::policies::srtf_parameters, measure, unknown, tenants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::las_parameters, first_threshold, second_threshold, promote, tenants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::gittins_parameters, quantum);
BOOST_HANA_ADAPT_STRUCT(ration::policies::max_min_parameters, round, by_tenant, heed_wants, levels_first);
BOOST_HANA_ADAPT_STRUCT(ration::policies::drf_parameters, backfill);
BOOST_HANA_ADAPT_STRUCT(ration::policies::fair_queue_parameters, order, backfill);
BOOST_HANA_ADAPT_STRUCT(ration::policies::fair_tree_parameters, backfill);
BOOST_HANA_ADAPT_STRUCT(ration::policies::flowcon_parameters, alpha, interval);
BOOST_HANA_ADAPT_STRUCT(ration::policies::phase_limits_parameters, interval, cpu_margin, memory_margin, limit_memory);
BOOST_HANA_ADAPT_STRUCT(ration::policies::division_parameters, interval, at_changes);
BOOST_HANA_ADAPT_STRUCT(ration::policies::edf_parameters, rule, interval);
BOOST_HANA_ADAPT_STRUCT(ration::policies::pollux_parameters, interval, at_changes, p, restart_penalty);
BOOST_HANA_ADAPT_STRUCT(ration::policies::good_enough_parameters, interval, at_changes, reached, patience,
                        restart_penalty);
BOOST_HANA_ADAPT_STRUCT(ration::policies::learner_parameters, learner, give_up, tenants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::gang_parameters, learner, placement, backfill, tenants);
BOOST_HANA_ADAPT_STRUCT(ration::policies::sia_parameters, round, at_changes, p, lambda, doubling, steps);
BOOST_HANA_ADAPT_STRUCT(ration::policies::wants_parameters, round, levels_first);
BOOST_HANA_ADAPT_STRUCT(ration::policies::shared_cache_parameters, mode, round);
