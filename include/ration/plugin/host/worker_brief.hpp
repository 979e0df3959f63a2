// SPDX-License-Identifier: BSL-1.0
/// The file from which a worker reads the data for `create` and `bind`: sizes, columns, names of resources,
/// configuration, state.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <ration/column.hpp>
#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_layout.hpp>

namespace ration::plugin {

/// Writes the file; the size in `brief` is computed here. Empty if memory cannot be shared; errno
/// has the cause.
[[nodiscard]] inline shared_file share_brief(worker_brief brief, std::span<column_info const> schema,
                                             std::string_view names, std::string_view config,
                                             std::span<std::byte const> state) noexcept {
    std::span<std::byte const> const parts[] = {std::as_bytes(std::span(&brief, 1)), std::as_bytes(schema),
                                                std::as_bytes(std::span(names)), std::as_bytes(std::span(config)),
                                                state.first(brief.state_size)};
    brief.size = 64;
    for (auto const part : parts) brief.size += on_line(part.size());
    auto file = shared_file::make("ration-brief", brief.size, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE);
    if (!file) return file;
    std::byte* at = file.map.data();
    for (auto const part : parts) {
        if (!part.empty()) std::memcpy(at, part.data(), part.size());
        at += on_line(part.size());
    }
    return file;
}

}  // namespace ration::plugin
