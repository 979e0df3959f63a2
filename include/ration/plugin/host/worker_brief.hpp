// SPDX-License-Identifier: BSL-1.0
/// The file from which a worker reads the data for `create` and `bind`: sizes, columns,
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
                                             std::string_view config, std::span<std::byte const> state) noexcept {
    std::size_t const columns = on_line(schema.size_bytes()), config_size = on_line(config.size());
    brief.size = on_line(sizeof brief) + columns + config_size + on_line(brief.state_size) + 64;
    auto file = shared_file::make("ration-brief", brief.size, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE);
    if (!file) return file;
    std::byte* at = file.map.data();
    std::memcpy(at, &brief, sizeof brief);
    at += on_line(sizeof brief);
    if (!schema.empty()) std::memcpy(at, schema.data(), schema.size_bytes());
    at += columns;
    if (!config.empty()) std::memcpy(at, config.data(), config.size());
    if (brief.state_size != 0) std::memcpy(at + config_size, state.data(), brief.state_size);
    return file;
}

}  // namespace ration::plugin
