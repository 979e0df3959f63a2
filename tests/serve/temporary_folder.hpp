// SPDX-License-Identifier: BSL-1.0
/// A folder that is removed with its content at the end of a test case.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/catch.hpp"

struct temporary_folder {
    std::string path = (std::filesystem::temp_directory_path() / "ration-store-XXXXXX").string();

    temporary_folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(path); }
};
