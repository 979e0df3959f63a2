// SPDX-License-Identifier: BSL-1.0
/// A copy of a folder that shares its files' contents.
#pragma once

#include <cstdint>
#include <string>

#include <ration/result.hpp>

namespace ration::program {

/// Makes the folder `to` of hard links to the regular files in `from` and below it; returns how many. Copies them where
/// `to` is on another file system. Links, sockets and the like are left out. An earlier `to` is replaced at the end, in
/// one step for a reader. Errors: not_found (no regular file in `from`), limit (over 10 000 files, or folders
/// nested deeper than 16), io.
[[nodiscard]] result<std::uint64_t> make_linked_copy(std::string const& from, std::string const& to);

}  // namespace ration::program
