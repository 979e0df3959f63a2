// SPDX-License-Identifier: BSL-1.0
#include <ration/plugin/host/worker_main.hpp>

int main() { return ration::plugin::worker_main(); }
