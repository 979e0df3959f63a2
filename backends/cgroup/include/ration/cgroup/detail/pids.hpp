// SPDX-License-Identifier: BSL-1.0
/// The text of cgroup.procs.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace ration::cgroup {

/// Calls `visit(line)` for each line of the text, without its line end.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        visit(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// The process numbers, sorted, each once (v1 may list one twice). A process that our pid namespace cannot see is
/// listed as 0.
[[nodiscard]] inline std::vector<int> parse_pids(std::string_view text) {
    std::vector<int> pids;
    for_each_line(text, [&](std::string_view line) {
        int pid = 0;
        auto const [end, failed] = std::from_chars(line.data(), line.data() + line.size(), pid);
        if (failed == std::errc{} && end == line.data() + line.size() && pid >= 0) pids.push_back(pid);
    });
    std::sort(pids.begin(), pids.end());
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    return pids;
}

}  // namespace ration::cgroup
