// SPDX-License-Identifier: BSL-1.0
/// Files that go away again, and a disk that ends where a test wants it to.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

/// Ends the whole test program as skipped, with the reason.
#define SKIP_TEST(reason) (std::puts("skipped: " reason), std::exit(77))

class temporary_file {
    std::string path_;

public:
    temporary_file() : path_((std::filesystem::temp_directory_path() / "ration-test-XXXXXX").string()) {
        ::close(::mkstemp(path_.data()));
    }
    ~temporary_file() { std::remove(path_.c_str()); }
    temporary_file(temporary_file const&) = delete;
    temporary_file& operator=(temporary_file const&) = delete;

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] std::string content() const {
        std::ostringstream out;
        out << std::ifstream(path_).rdbuf();
        return out.str();
    }
};

/// The size that this process may give its files. A write across it is cut off there; the next one fails with EFBIG.
class file_size_limit {
    rlimit before_{};
    void (*handler_)(int);

public:
    file_size_limit() : handler_(std::signal(SIGXFSZ, SIG_IGN)) { ::getrlimit(RLIMIT_FSIZE, &before_); }
    ~file_size_limit() {
        lift();
        std::signal(SIGXFSZ, handler_);
    }
    file_size_limit(file_size_limit const&) = delete;
    file_size_limit& operator=(file_size_limit const&) = delete;

    void set(rlim_t bytes) const {
        rlimit const now{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    void lift() const { ::setrlimit(RLIMIT_FSIZE, &before_); }
};
