// SPDX-License-Identifier: BSL-1.0
// ElasticFlow's jobs with deadlines, theirs beside ours: see elasticflow.hpp and docs/published.md.
#include "elasticflow.hpp"

int main() { return published::conclude(published::elasticflow_scenario(RATION_BENCH_DATA)); }
