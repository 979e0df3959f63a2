// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_orphans.hpp"

#include <algorithm>
#include <span>
#include <unistd.h>
#include <utility>

#include "run/orphan_cleaner.hpp"

namespace ration::program {
namespace {

/// Whether an agent of this node has left a run whose process is dead.
[[nodiscard]] bool has_orphans(std::span<std::string const> folders, std::string const& record) {
    return std::ranges::any_of(present_runs(folders), [&](present_run const& run) {
        return !run.alive && run.damage.empty() && run.record.file == record;
    });
}

}  // namespace

result<void> end_node_orphans(std::string const& folder, std::string const& record, nanoseconds grace) {
    std::span const folders(&folder, 1);
    constexpr int tries = 100;  // another program may hold the lock of a run for a moment
    for (int i = 0; i < tries; ++i) {
        auto found = find_orphaned_runs(folders);
        if (!found) return found.failure();
        for (auto& run : *found)
            if (run.alive.empty() || run.record.file == record)
                static_cast<void>(orphan_cleaner(false, grace).remove(std::move(run)));
        if (!has_orphans(folders, record)) return {};
        ::usleep(100'000);
    }
    return error{.code = errc::busy,
                 .operation = "end the jobs of an earlier agent",
                 .subject = std::string_view(record),
                 .remedy = "end them on that node: ration clean"};
}

void remove_folders_of_dead_runs() {
    auto found = find_orphaned_runs();
    if (!found) return;
    for (auto& run : *found)
        if (run.alive.empty()) static_cast<void>(orphan_cleaner(false).remove(std::move(run)));
}

}  // namespace ration::program
