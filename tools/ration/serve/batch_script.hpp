// SPDX-License-Identifier: BSL-1.0
/// A script for sbatch as a submission: its lines `#SBATCH --option` before the first command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// The options that have an equivalent. Empty ones are not in the script.
struct batch_script {
    std::vector<std::string> interpreter;  ///< of the first line
    std::string name, array, directory;
    std::string time_limit;          ///< as `parse_duration` takes it
    std::string memory;              ///< as `parse_size` takes it
    std::vector<std::string> after;  ///< numbers of jobs
    std::int64_t cpus = 0, gpus = 0;
    std::vector<std::string> unused;  ///< the other options, as "--output"
};

/// None: the text is not a script with such lines.
[[nodiscard]] std::optional<batch_script> read_batch_script(std::string_view text);

}  // namespace ration::program
