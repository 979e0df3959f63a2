// SPDX-License-Identifier: BSL-1.0
#include "decide/request_lines.hpp"

#include <utility>

#include <ration/process/input_file.hpp>

namespace ration::program {

request_lines::request_lines(process::descriptor file, std::size_t most) : file_(std::move(file)), most_(most) {}

result<request_lines::outcome> request_lines::next(std::string_view& line) {
    held_.erase(0, std::exchange(done_, 0));
    for (std::size_t searched = 0;;) {
        std::size_t const end = held_.find('\n', searched);
        bool const ends_here = end != std::string::npos || at_end_;
        std::size_t const length = end != std::string::npos ? end : held_.size();
        if (!ends_here && length > most_) {
            skips_ = true;
            held_.clear();
        } else if (ends_here) {
            if (end == std::string::npos && held_.empty() && !skips_) return outcome::end;
            line = std::string_view(held_).substr(0, length);
            done_ = end != std::string::npos ? length + 1 : length;
            return std::exchange(skips_, false) || length > most_ ? outcome::too_long : outcome::line;
        }
        searched = held_.size();
        if (auto const filled = fill(); !filled) return filled.failure();
    }
}

result<void> request_lines::fill() {
    constexpr std::size_t at_once = std::size_t{64} << 10;
    std::size_t const before = held_.size();
    held_.resize(before + at_once);
    auto const got = process::read_next(file_, held_.data() + before, at_once);
    held_.resize(before + (got ? *got : 0));
    if (!got) return got.failure();
    at_end_ = *got == 0;
    return {};
}

}  // namespace ration::program
