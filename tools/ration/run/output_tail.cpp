// SPDX-License-Identifier: BSL-1.0
#include "run/output_tail.hpp"

#include <algorithm>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

constexpr std::size_t chunk = std::size_t{64} << 10;
constexpr std::size_t longest_line = 160;

/// The job may have put anything in the place of its output.
constexpr process::input_rules output_of_job{.remedy = "let the job keep the file that its output goes to"};

[[nodiscard]] std::optional<off_t> size_of(int file) {
    struct stat about{};
    return ::fstat(file, &about) == 0 ? std::optional(about.st_size) : std::nullopt;
}

[[nodiscard]] std::string end_of_file(int file, std::size_t size) {
    auto const whole = size_of(file);
    if (!whole) return {};
    auto const begin = std::max<off_t>(0, *whole - static_cast<off_t>(size));
    std::string text(size, '\0');
    ssize_t const got = ::pread(file, text.data(), text.size(), begin);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

}  // namespace

result<void> output_tail::open(std::string path) {
    path_ = std::move(path);
    auto opened = process::open_input(path_, output_of_job);
    if (!opened) {
        error failed = opened.failure();
        failed.operation = "read the job's output";
        return failed;
    }
    file_ = std::move(opened).value();
    return {};
}

std::string_view output_tail::read() {
    if (!file_) return {};
    if (taken_ < buffer_.size()) return std::string_view(buffer_).substr(taken_);
    if (auto const size = size_of(file_.get()); size && *size < ::lseek(file_.get(), 0, SEEK_CUR))
        ::lseek(file_.get(), 0, SEEK_SET);  // it was emptied, as at a rotation
    buffer_.resize(chunk);
    taken_ = 0;
    ssize_t const got = ::read(file_.get(), buffer_.data(), buffer_.size());
    buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return buffer_;
}

std::uint64_t output_tail::unread() const noexcept {
    if (!file_) return 0;
    auto const in_file = size_of(file_.get()).value_or(0) - ::lseek(file_.get(), 0, SEEK_CUR);
    return static_cast<std::uint64_t>(std::max<off_t>(in_file, 0)) + (buffer_.size() - taken_);
}

std::uint64_t output_tail::skip_to_last(std::uint64_t bytes) noexcept {
    auto const before = unread();
    if (before <= bytes) return 0;
    auto const skipped = before - bytes;
    auto const in_buffer = std::min<std::uint64_t>(skipped, buffer_.size() - taken_);
    taken_ += in_buffer;
    ::lseek(file_.get(), static_cast<off_t>(skipped - in_buffer), SEEK_CUR);
    return skipped;
}

bool output_tail::ends_with_buffer() const noexcept {
    auto const size = file_ ? size_of(file_.get()) : std::nullopt;
    return size && is_end_of_buffer(static_cast<std::uint64_t>(*size));
}

std::string last_line(std::string const& path) {
    auto const file = process::open_input(path, output_of_job);
    if (!file) return {};
    std::string text = end_of_file(file->get(), 4096);
    auto const visible = [](unsigned char c) { return c > ' ' && c != 127; };
    auto const last = std::find_if(text.rbegin(), text.rend(), visible).base();
    auto const first = std::find_if(std::make_reverse_iterator(last), text.rend(), [](char c) {
                           return c == '\n' || c == '\r';
                       }).base();
    std::string line(first, last);
    std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
    line.resize(std::min(line.size(), longest_line));
    return line;
}

}  // namespace ration::program
