// SPDX-License-Identifier: BSL-1.0
// ElasticRMI's hook beside a CPU-driven autoscaler: see elastic_rmi.hpp and docs/elastic-pools.md.
#include "elastic_rmi.hpp"

int main() { return published::conclude(published::elastic_rmi_scenario()); }
