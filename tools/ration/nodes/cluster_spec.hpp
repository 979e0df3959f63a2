// SPDX-License-Identifier: BSL-1.0
/// The nodes of a run, as --nodes and --hosts name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/result.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"

namespace ration::program {

inline constexpr std::size_t most_nodes = 1024;
/// The nodes of a Slurm allocation, which `read_slurm_allocation` finds.
inline constexpr std::string_view slurm_nodes = "slurm";

struct node_spec {
    std::string name;
    std::vector<std::string> command;        ///< its standard input and output are the wire
    std::optional<std::uint32_t> cpus{};     ///< of a part of this machine
    std::optional<std::uint32_t> devices{};  ///< the same, of CPU devices
    std::vector<std::string> environment{};  ///< entries besides those of this process
};

/// `word`: "local:N", or a command with {host}, which a shell runs for each of `hosts`. `gpus`: those of this machine,
/// which the local nodes divide. `program`: the path of ration. Errors: another form.
[[nodiscard]] result<std::vector<node_spec>, diagnostic> read_nodes(std::string_view word,
                                                                    std::vector<std::string> const& hosts,
                                                                    run_config const& config,
                                                                    std::vector<std::string> const& gpus,
                                                                    std::string const& program);

/// The form alone, for the command line.
[[nodiscard]] result<void, diagnostic> check_nodes(std::string_view word);

}  // namespace ration::program
