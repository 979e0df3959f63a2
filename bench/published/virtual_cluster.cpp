// SPDX-License-Identifier: BSL-1.0
// VirtualCluster's test of fairness, theirs beside ours: see virtual_cluster.hpp and docs/published.md.
#include "virtual_cluster.hpp"

int main() { return published::conclude(published::virtual_cluster_scenario()); }
