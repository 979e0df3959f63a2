// SPDX-License-Identifier: BSL-1.0
/// The files below tools/ration/new, as text in the program.
#pragma once

#include <span>
#include <string_view>

namespace ration::program {

struct template_file {
    std::string_view set;   ///< the folder below tools/ration/new: "common", or a language as --lang takes it
    std::string_view path;  ///< in the new folder
    std::string_view text;  ///< with `my-policy` where the name goes, and `my_policy` where it has to be an identifier
};

[[nodiscard]] std::span<template_file const> template_files() noexcept;

}  // namespace ration::program
