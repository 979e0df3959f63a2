// SPDX-License-Identifier: BSL-1.0
#include "nodes/wire_lines.hpp"

namespace ration::program {

void wire_lines::feed(std::string_view bytes) {
    if (skips_) {
        auto const end = bytes.find('\n');
        if (end == bytes.npos) return;
        bytes.remove_prefix(end + 1);
        skips_ = false;
    }
    held_ += bytes;
}

std::optional<wire_line> wire_lines::next() {
    auto const end = held_.find('\n');
    bool const ends_here = end != held_.npos;
    std::size_t const length = ends_here ? end : held_.size();
    if (length > most_message_bytes) {
        skips_ = !ends_here;
        held_.erase(0, ends_here ? end + 1 : length);
        return wire_line{{}, true};
    }
    if (!ends_here) return std::nullopt;
    wire_line out{held_.substr(0, length), false};
    held_.erase(0, end + 1);
    return out;
}

}  // namespace ration::program
