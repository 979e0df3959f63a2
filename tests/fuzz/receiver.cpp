// SPDX-License-Identifier: BSL-1.0
// The progress socket: datagrams as a job's processes may send them. Each line of an input is one, with '%' for what
// every message of the job has in front. Every datagram is counted once, and what is handed on belongs to the job.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <ration/progress/receiver.hpp>

#include "support.hpp"

namespace progress = ration::progress;
using fuzz::require;

namespace {

constexpr char const* token = "0123456789abcdef";
constexpr ration::job_id job{7};

/// One receiver and one sender for the whole process; each input is a new incarnation of the job.
class session {
    std::string folder_ = (std::filesystem::temp_directory_path() / "ration-fuzz-XXXXXX").string();
    std::optional<progress::receiver> receiver_;
    int socket_ = -1;
    std::uint32_t incarnation_ = 0;

public:
    session() {
        require(::mkdtemp(folder_.data()) != nullptr, "there is no folder for a socket");
        auto opened = progress::receiver::open(folder_ + "/p.sock");
        require(static_cast<bool>(opened), "the progress socket cannot be opened");
        receiver_.emplace(std::move(*opened));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (folder_ + "/p.sock").copy(address.sun_path, sizeof address.sun_path - 1);
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        require(::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0,
                "the progress socket cannot be reached");
    }
    session(session const&) = delete;
    ~session() {
        ::close(socket_);
        receiver_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    void begin() {
        require(static_cast<bool>(receiver_->register_job(job, "vae", {++incarnation_}, token)),
                "a job cannot be registered");
    }
    [[nodiscard]] std::string envelope() const {
        return "e=" + std::to_string(incarnation_) + " k=" + token + " j=vae r=0 q=";
    }
    [[nodiscard]] bool send(std::string const& datagram) const {
        return ::send(socket_, datagram.data(), datagram.size(), 0) >= 0;
    }
    [[nodiscard]] progress::totals const& counts() const { return receiver_->counts(); }

    void drain(ration::nanoseconds now) {
        auto const belongs = [](ration::job_id id, pid_t pid) { return id == job && pid == ::getpid(); };
        auto const take = [this](progress::update const& reported) {
            require(reported.job == job && reported.run.value == incarnation_ && reported.process == ::getpid(),
                    "a message is handed on that is not the job's");
            require(reported.body.control.empty() || reported.body.control.starts_with(folder_ + "/"),
                    "commands would go to a socket elsewhere");
        };
        auto const more = receiver_->drain(now, belongs, take);
        require(more && !*more, "datagrams are left over");
    }
};

[[nodiscard]] std::uint64_t sum_of_outcomes(progress::totals const& t) {
    return t.accepted + t.truncated + t.wrong_uid + t.malformed + t.unknown_job + t.stale + t.wrong_token +
           t.wrong_process + t.duplicate + t.rate_limited + t.unknown_type;
}

[[nodiscard]] std::string datagram_of(std::string_view line, std::string const& envelope) {
    std::string out(line);
    if (auto const at = out.find('%'); at != out.npos) out.replace(at, 1, envelope);
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static session one;
    static std::int64_t now = 0;
    one.begin();
    auto const before = one.counts().received;
    std::uint64_t sent = 0;
    fuzz::input in(data, size);
    // The kernel's queue holds eleven
    while (!in.empty() && sent < 8) sent += one.send(datagram_of(in.line(), one.envelope())) ? 1 : 0;
    one.drain({now += 1'000'000'000});
    require(one.counts().received == before + sent, "a datagram is lost, or invented");
    require(sum_of_outcomes(one.counts()) == one.counts().received, "a datagram has no outcome, or two");
    return 0;
}
