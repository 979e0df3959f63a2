// SPDX-License-Identifier: BSL-1.0
/// The paths that match a pattern of a job, found at a bounded cost: the user chooses the pattern and the folders.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ration::program {

/// Expands `*`, `?` and `[...]` as glob(7) does.
class path_search {
public:
    static constexpr std::size_t most_entries = 4096;                ///< of all folders that are read
    static constexpr std::size_t most_bytes = std::size_t{1} << 20;  ///< of all paths on the way

    /// The matching paths, in any order. The parts of the pattern after the last `*`, `?` or `[...]` need not exist. A
    /// search that met a limit returns nothing.
    [[nodiscard]] std::vector<std::string> expand(std::string const& pattern);
    /// The matching entries of a folder.
    void add_entries(std::string const& folder, std::string const& pattern, std::vector<std::string>& into);
    /// True if the search met a limit.
    [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }

private:
    void take(std::size_t bytes) noexcept;
    void descend(std::string const& part, std::vector<std::string>& folders);

    std::size_t entries_ = 0, bytes_ = 0;
    bool exceeded_ = false;
};

}  // namespace ration::program
