// SPDX-License-Identifier: BSL-1.0
/// The files of tools/ration/serve/page, as text in the program. They have no data of any user.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/request_head.hpp"

namespace ration::program {

struct page_file {
    std::string_view target;  ///< as a browser asks for it
    std::string_view type;
    std::string_view text;
};

/// Written by page/embed.cmake.
[[nodiscard]] std::span<page_file const> page_files() noexcept;

/// The file that a request asks for; none for other requests.
[[nodiscard]] page_file const* page_file_of(request_head const& head) noexcept;

/// The bytes of the answer. A browser runs only scripts of these files, and no other site may frame them.
[[nodiscard]] std::string page_reply(page_file const& file);

}  // namespace ration::program
