// SPDX-License-Identifier: BSL-1.0
#include "serve/confirmed_list.hpp"

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 53;  // as JSON carries it

[[nodiscard]] list_extent read_extent(std::string const& path) {
    auto const text = process::read_input(path, {.most_bytes = 64});
    if (!text) return {};
    list_extent out;
    bool const valid = std::sscanf(text->c_str(), "%" SCNd64 " %" SCNd64, &out.job, &out.change) == 2 && out.job >= 0 &&
                       out.job <= largest && out.change >= 0 && out.change <= largest;
    return valid ? out : list_extent{};
}

}  // namespace

result<confirmed_list> confirmed_list::open(std::string const& path) {
    confirmed_list out;
    out.file_ =
        process::descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat about{};
    if (!out.file_ || ::fstat(out.file_.get(), &about) != 0)
        return process::path_error("open", path, errno, "let this user write to the folder");
    if (!S_ISREG(about.st_mode) || about.st_uid != ::geteuid())
        return error{.code = errc::denied,
                     .operation = "open",
                     .subject = std::string_view(path),
                     .remedy = "remove it: it is not a regular file of this user"};
    out.last_ = read_extent(path);
    return out;
}

/// Of a constant length and in one sector, so that it needs no space on a full disk, and is old or new after a loss of
/// power.
void confirmed_list::write(list_extent const& now, bool durable) noexcept {
    if (now == last_) return;
    std::array<char, 64> text{};
    int const length = std::snprintf(text.data(), text.size(), "%020" PRId64 " %020" PRId64 "\n", now.job, now.change);
    if (::pwrite(file_.get(), text.data(), static_cast<std::size_t>(length), 0) != length) return;
    if (durable && ::fdatasync(file_.get()) != 0) return;
    last_ = now;
}

}  // namespace ration::program
