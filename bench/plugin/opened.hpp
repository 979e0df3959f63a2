// SPDX-License-Identifier: BSL-1.0
// A plugin as a host opens it. A worker is this program again, called with "worker".
#pragma once

#include <memory>

#include <ration/plugin/host/host.hpp>

#include "scene.hpp"

namespace plugin_bench {

/// Without columns, these are copied to a worker at each tick.
[[nodiscard]] inline std::unique_ptr<plugin::guarded_policy> opened(char const* path, plugin::isolation where,
                                                                    plugin::shared_columns const* columns = nullptr) {
    plugin::worker_options worker{.program = {}, .columns = columns};
    // In process: not tried in a worker first
    if (where == plugin::isolation::worker) worker.program = {"/proc/self/exe", {"worker"}};
    return need(plugin::open(path, {.where = where, .config = {}, .worker = worker, .strikes = {}}));
}

}  // namespace plugin_bench
