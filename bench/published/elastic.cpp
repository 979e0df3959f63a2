// SPDX-License-Identifier: BSL-1.0
// Elastic batches beside fixed ones, over the load: see elastic.hpp and docs/published.md.
#include "elastic.hpp"

int main() { return published::conclude(published::elastic_scenario()); }
