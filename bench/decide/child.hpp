// SPDX-License-Identifier: BSL-1.0
/// A running `ration decide`, which answers a line with a line.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

/// Ends the benchmark if a system call fails: there is nothing to measure then.
inline void require(bool done, char const* what) {
    if (done) return;
    std::perror(what);
    std::exit(2);
}

class decide_child {
    pid_t pid_ = -1;
    int to_ = -1;
    std::FILE* from_ = nullptr;
    char* line_ = nullptr;
    std::size_t room_ = 0;

public:
    decide_child(char const* program, char const* policy) {
        std::array<int, 2> in{}, out{};
        require(::pipe(in.data()) == 0 && ::pipe(out.data()) == 0, "pipe");
        pid_ = ::fork();
        require(pid_ >= 0, "fork");
        if (pid_ == 0) {
            ::dup2(in[0], STDIN_FILENO);
            ::dup2(out[1], STDOUT_FILENO);
            for (int const one : {in[0], in[1], out[0], out[1]}) ::close(one);
            ::execl(program, program, "decide", policy, nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = ::fdopen(out[0], "r");
        require(from_ != nullptr, "fdopen");
    }
    decide_child(decide_child const&) = delete;
    decide_child& operator=(decide_child const&) = delete;
    ~decide_child() {
        ::close(to_);
        std::fclose(from_);
        std::free(line_);
        ::waitpid(pid_, nullptr, 0);
    }

    /// `request` ends in a newline.
    [[nodiscard]] std::string_view ask(std::string_view request) {
        while (!request.empty()) {
            ssize_t const put = ::write(to_, request.data(), request.size());
            require(put > 0, "write a request");
            request.remove_prefix(static_cast<std::size_t>(put));
        }
        ssize_t const got = ::getline(&line_, &room_, from_);
        require(got > 0, "read an answer");
        return {line_, static_cast<std::size_t>(got)};
    }
};

}  // namespace bench
