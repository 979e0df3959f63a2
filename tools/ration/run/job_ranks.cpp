// SPDX-License-Identifier: BSL-1.0
#include "run/job_ranks.hpp"

#include <fmt/format.h>
#include <functional>
#include <string_view>

namespace ration::program {
namespace {

void replace_all(std::string& word, std::string_view mark, std::string const& value) {
    for (auto at = word.find(mark); at != std::string::npos; at = word.find(mark, at + value.size()))
        word.replace(at, mark.size(), value);
}

/// Below the ports that the kernel gives to connections. Another one for each launch: a program that has ended can
/// occupy its port for a while.
[[nodiscard]] std::uint16_t port_of(live_job const& job) {
    constexpr std::size_t first = 20000, count = 10000;
    auto const& part = job.elastic().part;
    if (part.port != 0) return part.port;
    return static_cast<std::uint16_t>(first + std::hash<std::string_view>{}(job.token.view()) % count);
}

}  // namespace

std::vector<std::string> command_of(live_job const& job, std::int64_t ranks) {
    auto words = job.config->command;
    if (job.devices == nullptr) return words;
    auto const& part = job.elastic().part;
    for (auto& word : words) {
        replace_all(word, "{devices}", std::to_string(ranks));
        if (job.elastic().most_nodes < 2) continue;
        replace_all(word, "{nodes}", std::to_string(part.nodes));
        replace_all(word, "{node_rank}", std::to_string(part.node_rank));
        replace_all(word, "{master}", fmt::format("{}:{}", part.master, port_of(job)));
    }
    return words;
}

std::vector<std::string> ranks_entries(live_job const& job, std::int64_t ranks) {
    if (job.devices == nullptr || job.elastic().most_nodes < 2) return {};
    auto const& part = job.elastic().part;
    return {"MASTER_ADDR=" + part.master,
            fmt::format("MASTER_PORT={}", port_of(job)),
            fmt::format("WORLD_SIZE={}", part.is_whole() ? ranks : part.world),
            fmt::format("RANK={}", part.first_rank),
            fmt::format("NODE_RANK={}", part.node_rank),
            fmt::format("RATION_NODES={}", part.nodes)};
}

std::string suffix_of_output(live_job const& job) {
    if (job.devices == nullptr || !job.elastic().part.follows()) return {};
    return fmt::format(".node-{}", job.elastic().part.node_rank);
}

}  // namespace ration::program
