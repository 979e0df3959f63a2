// SPDX-License-Identifier: BSL-1.0
/// A private place for a socket, a receiver that stores its reports, and a raw sender.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <ration/progress/receiver.hpp>

#include "support/catch.hpp"

namespace progress_test {

namespace rp = ration::progress;

inline constexpr char const* token = "0123456789abcdef";

class scratch {
public:
    scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "ration-progress-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    scratch(scratch const&) = delete;
    scratch& operator=(scratch const&) = delete;
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
    std::string path_;
};

/// An update whose texts are copies.
struct received {
    rp::update update;
    std::string metric;
    std::string why;
    std::string devices;
    std::string control;
};

struct notebook {
    std::vector<received> all;
    void operator()(rp::update const& reported) {
        all.push_back({reported, std::string(reported.body.metric), std::string(reported.body.why),
                       std::string(reported.body.devices), std::string(reported.body.control)});
    }
    [[nodiscard]] std::vector<received> of(rp::message_type type) const {
        std::vector<received> out;
        for (auto const& one : all)
            if (one.update.body.type == type) out.push_back(one);
        return out;
    }
};

/// A receiver in a scratch folder with the job "vae" in incarnation 1.
class listener {
public:
    scratch const place{};
    std::string const path = place / "run/p.sock";
    notebook reported{};

    listener() { start(); }

    void start(ration::incarnation_id run = {1}) {
        auto opened = rp::receiver::open(path);
        REQUIRE(opened);
        receiver_.emplace(std::move(*opened));
        REQUIRE(receiver_->register_job({7}, "vae", run, token));
    }
    void stop() { receiver_.reset(); }

    [[nodiscard]] rp::receiver& operator*() { return *receiver_; }
    [[nodiscard]] rp::receiver* operator->() { return &*receiver_; }

    /// Everything that waits.
    void drain(ration::nanoseconds now = {}) {
        auto more = true;
        while (more) {
            auto const drained = receiver_->drain(now, [](ration::job_id, pid_t) { return true; }, reported);
            REQUIRE(drained);
            more = *drained;
        }
    }

    /// What a launcher would export.
    void set_environment() const {
        ::setenv("RATION_PROGRESS", ("unix:" + path).c_str(), 1);
        ::setenv("RATION_JOB", "vae", 1);
        ::setenv("RATION_INCARNATION", "1", 1);
        ::setenv("RATION_TOKEN", token, 1);
        ::unsetenv("RANK");
    }

private:
    std::optional<rp::receiver> receiver_;
};

/// A socket that sends the texts that it is given.
class raw_sender {
public:
    explicit raw_sender(std::string const& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        REQUIRE(::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    }
    raw_sender(raw_sender const&) = delete;
    raw_sender& operator=(raw_sender const&) = delete;
    ~raw_sender() { ::close(socket_); }

    [[nodiscard]] int fd() const { return socket_; }

    /// False when the queue is full. With `flags` 0 it waits for room.
    bool operator()(std::string_view datagram, int flags = MSG_DONTWAIT) const {
        return ::send(socket_, datagram.data(), datagram.size(), flags) == static_cast<ssize_t>(datagram.size());
    }

    /// Until the queue is full; how many that took.
    int fill() const {
        int sent = 0;
        while ((*this)("junk")) ++sent;
        return sent;
    }

private:
    int socket_;
};

/// A message of "vae" with what every message needs.
inline std::string message_text(std::string const& type, int sequence, std::string const& more = "",
                                int incarnation = 1) {
    return "P1 " + type + " e=" + std::to_string(incarnation) + " k=" + token +
           " j=vae r=0 q=" + std::to_string(sequence) + more;
}

/// Every datagram has one fate.
inline bool adds_up(rp::totals const& t) {
    return t.received == t.accepted + t.truncated + t.wrong_uid + t.malformed + t.unknown_job + t.stale +
                             t.wrong_token + t.wrong_process + t.duplicate + t.rate_limited + t.unknown_type;
}

}  // namespace progress_test
