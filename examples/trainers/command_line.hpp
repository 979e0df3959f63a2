// SPDX-License-Identifier: BSL-1.0
/// The options of `train`. CLI11 is read apart from the training, because optimising it takes longer than all else
/// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fashion_mnist.hpp"

namespace trainers {

enum exit_status : int { succeeded = 0, no_data = 1, wrong_command_line = 2, not_finite = 3 };

struct options {
    std::string model;
    std::uint64_t seed = 1;
    std::uint64_t steps = 0;  // 0: as in the recipe
    std::uint64_t batch = 0;  // 0: as in the recipe
    std::uint64_t report_every = 20;
    std::string data = fashion_mnist::default_folder;
};

/// Returns the exit status where nothing is to be trained: after --help, and after a wrong option, which it has named.
[[nodiscard]] std::optional<int> read_command_line(int argc, char** argv, options& asked);

}  // namespace trainers
