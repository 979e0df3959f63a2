// SPDX-License-Identifier: BSL-1.0
/// The record of a run on several nodes, `nodes.json` in its folder: where each job may run. A later controller
/// continues the run from it, also on another machine, because all nodes see this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/result.hpp>
#include <ration/units.hpp>

#include "events/events.hpp"

namespace ration::program {

/// The devices of a job on one node, by its name.
struct recorded_part {
    std::string node;
    std::int64_t devices = 0;
    bool is_there = true;  ///< it has not left the node
};

struct recorded_launch {
    std::string job;
    std::uint32_t incarnation = 0;
    std::vector<recorded_part> layout{};  ///< with which it was assigned to its nodes; empty: to none
    bool leaving = false;                 ///< it was withdrawn from them
    std::int64_t batch = 0;
    std::uint64_t step = 0;
    double attained = 0;  ///< device-seconds
    // On the clock of the run
    std::optional<nanoseconds> started{}, acceptable{}, objective{}, ended{};
    std::optional<condition> how{};  ///< of a job that is over
    std::string why{};               ///< the same
};

struct cluster_record {
    std::string run;
    std::string file;          ///< the jobs file, absolute
    nanoseconds began{};       ///< since 1970
    nanoseconds lease{};       ///< of its nodes
    std::int64_t devices = 0;  ///< that a job can have at once
    std::vector<recorded_launch> jobs{};
};

[[nodiscard]] inline std::string record_in(std::string const& folder) { return folder + "/nodes.json"; }

[[nodiscard]] std::string to_json(cluster_record const& record);
/// Errors: a sentence without a remedy.
[[nodiscard]] result<cluster_record, std::string> read_cluster_record(std::string_view text);

}  // namespace ration::program
