// SPDX-License-Identifier: BSL-1.0
/// A connection of cpp-httplib that reads a request from one string and writes the answer to another. It includes
/// httplib.h, which is expensive to compile: only sources that are libraries of their own include it. They compile with
/// 0.11 (Debian 12), with 0.18 (Debian 13) and with later versions.
#pragma once

#include <httplib.h>
#include <string>
#include <string_view>
#include <utility>

namespace ration::program {

/// Versions of the library differ in which of these functions are virtual, so they have no `override`.
// NOLINTBEGIN(modernize-use-override)
class memory_stream final : public httplib::Stream {
    std::string_view unread_;
    std::string written_;

public:
    explicit memory_stream(std::string_view request) : unread_(request) {}

    [[nodiscard]] std::string take() { return std::move(written_); }

    ssize_t read(char* to, size_t size) {
        auto const count = unread_.copy(to, size);
        unread_.remove_prefix(count);
        return static_cast<ssize_t>(count);
    }
    ssize_t write(char const* from, size_t size) {
        written_.append(from, size);
        return static_cast<ssize_t>(size);
    }
    [[nodiscard]] bool is_readable() const { return !unread_.empty(); }
    [[nodiscard]] bool wait_readable() const { return is_readable(); }
    [[nodiscard]] bool is_writable() const { return true; }
    [[nodiscard]] bool wait_writable() const { return true; }
    void get_remote_ip_and_port(std::string&, int&) const {}
    void get_local_ip_and_port(std::string&, int&) const {}
    [[nodiscard]] socket_t socket() const { return INVALID_SOCKET; }
    [[nodiscard]] time_t duration() const { return 0; }
};
// NOLINTEND(modernize-use-override)

/// A server that never listens: the handlers of a derived class answer one request in memory.
class memory_server : protected httplib::Server {
protected:
    template <class Setup>
    [[nodiscard]] std::string exchange(std::string_view request, Setup const& setup) {
        memory_stream stream(request);
        process(stream, setup);
        return stream.take();
    }

private:
    template <class Stream, class Setup>
    void process(Stream& stream, Setup const& setup) {
        bool is_closed = true;
        if constexpr (requires { this->process_request(stream, "", 0, "", 0, true, is_closed, setup); })
            this->process_request(stream, "", 0, "", 0, true, is_closed, setup);
        else
            this->process_request(stream, true, is_closed, setup);
    }
};

}  // namespace ration::program
