// SPDX-License-Identifier: BSL-1.0
#include "serve/output_rotation.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

[[nodiscard]] bool is_same_file(int one, int other) {
    struct stat a{}, b{};
    return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Copies at most `most` bytes: a program can write faster than this reads.
[[nodiscard]] bool copy(int from, int to, std::int64_t most) {
    static std::array<char, 1 << 16> some;
    while (most > 0) {
        auto const got = ::read(from, some.data(), some.size());
        if (got <= 0) return got == 0;
        if (::write(to, some.data(), static_cast<std::size_t>(got)) != got) return false;
        most -= got;
    }
    return true;
}

}  // namespace

void rotate_output(int output, std::string const& log, std::int64_t largest) {
    struct stat about{};
    if (::fstat(output, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < largest) return;
    auto const from = process::open_input(log, {});
    if (!from || !is_same_file(from->get(), output)) return;
    auto const made = log + ".new";
    ::unlink(made.c_str());  // the job may have put anything there, as a pipe without a reader
    process::descriptor const to(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (to && copy(from->get(), to.get(), 2 * about.st_size) &&
        ::rename(made.c_str(), earlier_output(log).c_str()) == 0) {
        static_cast<void>(!::ftruncate(output, 0));
        return;
    }
    ::unlink(made.c_str());
}

}  // namespace ration::program
