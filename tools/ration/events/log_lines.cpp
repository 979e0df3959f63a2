// SPDX-License-Identifier: BSL-1.0
#include "events/log_lines.hpp"

#include <algorithm>
#include <utility>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 20, buffer_size = 1 << 16;

}  // namespace

log_lines::log_lines(process::descriptor file, char const* remedy)
    : file_(std::move(file)), remedy_(remedy), buffer_(buffer_size) {}

result<log_lines> log_lines::open(std::string const& path, char const* remedy) {
    auto file = process::open_input(path, {.remedy = remedy});
    if (!file) return file.failure();
    return log_lines(std::move(file).value(), remedy);
}

bool log_lines::next(std::string& line) {
    line.clear();
    for (;;) {
        if (at_ == filled_ && !fill()) {
            whole_ = false;
            return status_ && !line.empty();
        }
        auto const begin = buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
                   filled = buffer_.begin() + static_cast<std::ptrdiff_t>(filled_);
        auto const end = std::find(begin, filled, '\n');
        if (line.size() + static_cast<std::size_t>(end - begin) > longest_line) {
            status_ = diagnostic{.text = std::string("the line has more than 64 MiB, which no event has; ") + remedy_};
            return false;
        }
        line.append(begin, end);
        at_ += static_cast<std::size_t>(end - begin);
        if (end == filled) continue;
        ++at_;
        return whole_ = true;
    }
}

bool log_lines::fill() {
    auto const got = process::read_next(file_, buffer_.data(), buffer_.size());
    if (!got) {
        error failed = got.failure();
        failed.remedy = remedy_;
        status_ = diagnostic{.text = process::input_sentence(failed)};
    }
    at_ = 0;
    filled_ = got ? *got : 0;
    return filled_ > 0;
}

}  // namespace ration::program
