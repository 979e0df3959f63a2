// SPDX-License-Identifier: BSL-1.0
/// The part of a job that runs on one of its nodes.
#pragma once

#include <cstdint>
#include <string>

namespace ration::program {

/// By default the whole job.
struct job_part {
    std::uint32_t nodes = 1, node_rank = 0;
    std::int64_t first_rank = 0;       ///< the first one on this node
    std::int64_t world = 0;            ///< ranks on all nodes; 0: all are on this one
    std::string master = "127.0.0.1";  ///< the address of node rank 0
    std::uint16_t port = 0;            ///< of rank 0 there; 0: chosen at each launch
    /// Of all parts of this launch. A part is launched once, because the others would not follow. 0: any number of
    /// launches.
    std::uint32_t incarnation = 0;

    [[nodiscard]] bool is_whole() const noexcept { return nodes == 1; }
    /// Whether rank 0 is on another node, so that this part neither reports nor takes commands.
    [[nodiscard]] bool follows() const noexcept { return node_rank > 0; }
};

}  // namespace ration::program
