// SPDX-License-Identifier: BSL-1.0
/// `ration submit`: reads the job from the command line, and gives it to the service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/exit_code.hpp"

namespace ration::program {

struct submit_options {
    std::string folder;              ///< of --state
    std::vector<std::string> words;  ///< a command, or one jobs file that ends in .toml
    std::string name;                ///< empty: that of the program, or in the file
    std::optional<std::int64_t> priority;
    std::int64_t retries = 0;
    std::vector<std::string> after;
    std::string time_limit;  ///< as `parse_duration` takes it; empty: none
    std::string key;         ///< empty: a random one
    std::string on_end;      ///< a command for sh at the end of the job; empty: none
    std::string array;       ///< "1-20": a job for each of these numbers; empty: one job
    std::string keys;        ///< lines of the [[job]] of a command; those of a script for sbatch
    bool json = false;
};
/// The first and the last number of "1-20": from 0 on, at most 1000 numbers. None for another word.
[[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> array_of(std::string const& word);

/// Prints the label of each job. A script with lines for sbatch gives options that the command line leaves out. Pre:
/// `array` is empty, or `array_of` takes it.
[[nodiscard]] exit_code submit_job(submit_options const& given);

}  // namespace ration::program
