// SPDX-License-Identifier: BSL-1.0
/// How far the service's list of jobs was confirmed to clients, in a small file beside it. It shows that a list is
/// older than it was, as after the loss of its write-ahead log.
#pragma once

#include <cstdint>
#include <string>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

struct list_extent {
    std::int64_t job = 0;     ///< the highest number of a job
    std::int64_t change = 0;  ///< the number of the last change of a stage

    friend bool operator==(list_extent const&, list_extent const&) = default;
};

class confirmed_list {
    process::descriptor file_;
    list_extent last_;

public:
    /// A file that is not there is created. A content that cannot be read counts as an empty list.
    /// Errors: those of open(2).
    [[nodiscard]] static result<confirmed_list> open(std::string const& path);

    [[nodiscard]] list_extent const& last() const noexcept { return last_; }
    /// `durable`: waits for the disk. Without an effect if the disk fails: the file then shows an earlier list.
    void write(list_extent const& now, bool durable) noexcept;
};

}  // namespace ration::program
