// SPDX-License-Identifier: BSL-1.0
// Senders that mean harm: another user, descriptors sent along, a flood.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>

#include <ration/progress/client.h>

#include "support.hpp"

using namespace progress_test;

namespace {

auto open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

ration::nanoseconds monotonic() {
    return {std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

bool send_with_descriptor(raw_sender const& sender, std::string text, int descriptor) {
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    auto* const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
    return ::sendmsg(sender.fd(), &header, MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

/// The kernel's own bound on a queue is 11; a network namespace has a separate bound, which root may raise.
bool lengthen_queues() {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    std::ofstream bound("/proc/sys/net/unix/max_dgram_qlen");
    return static_cast<bool>(bound << 1000 << std::flush);
}

bool drains_by_256() {
    listener ear;
    bool good = true;
    std::vector<std::unique_ptr<raw_sender>> senders;  // several, for each has a bound on what it has on the way
    for (int at = 0; at < 600; ++at) {
        if (at % 100 == 0) senders.push_back(std::make_unique<raw_sender>(ear.path));
        good = (*senders.back())("junk") && good;
    }
    for (std::uint64_t const sum : {256U, 512U, 600U}) {
        auto const more = ear->drain({}, [](ration::job_id, pid_t) { return true; }, ear.reported);
        good = good && more && *more == (sum != 600) && ear->counts().received == sum;
    }
    return good;
}

}  // namespace

TEST_CASE("another user's messages are refused, even over a socket opened before", "[receiver]") {
    if (::geteuid() != 0) {
        WARN("not run: only root can take another user's identity");
        return;
    }
    listener ear;
    raw_sender const sender(ear.path);
    pid_t const child = ::fork();
    if (child == 0) {
        bool const sent = ::setresgid(65534, 65534, 65534) == 0 && ::setresuid(65534, 65534, 65534) == 0 &&
                          sender(message_text("hb", 1));
        ::_exit(sent ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    ear.drain();
    CHECK(ear->counts().wrong_uid == 1);
    CHECK(ear->counts().accepted == 0);
    CHECK(adds_up(ear->counts()));
}

TEST_CASE("another user cannot even reach the socket", "[receiver]") {
    if (::geteuid() != 0) {
        WARN("not run: only root can take another user's identity");
        return;
    }
    listener ear;
    pid_t const child = ::fork();
    if (child == 0) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        ear.path.copy(address.sun_path, sizeof address.sun_path - 1);
        int const socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
        bool const changed = ::setresuid(65534, 65534, 65534) == 0;
        bool const denied =
            ::connect(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 && errno == EACCES;
        ::_exit(changed && denied ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

/// What the call returns in a process of this user.
template <class Call>
[[nodiscard]] static bool succeeds_as(uid_t uid, Call call) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(::setresuid(uid, uid, uid) == 0 && call() ? 0 : 1);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status == 0;
}

[[nodiscard]] static bool may_send(uid_t uid, std::string const& socket) {
    return succeeds_as(uid, [&] { return ::access(socket.c_str(), W_OK) == 0; });
}

TEST_CASE("only the user of a job reports for it where all users may send", "[receiver]") {
    if (::geteuid() != 0) {
        WARN("not run: only root can take another user's identity");
        return;
    }
    constexpr uid_t owner = 60'001, stranger = 60'002;
    scratch const place;
    std::filesystem::permissions(place / ".", std::filesystem::perms{0711});
    auto const path = place / "run/p.sock", controls = place / "user";
    auto ear = rp::receiver::open(path, rp::audience::everybody);
    REQUIRE(ear);
    rp::job_user const user{.uid = owner, .control_directory = controls};
    REQUIRE(ear->register_job({7}, "vae", {1}, token, &user));
    std::string const socket(rp::receiver::path_of(path, owner).view());
    CHECK(may_send(owner, socket));
    CHECK_FALSE(may_send(stranger, socket));  // it could fill the queue
    CHECK_FALSE(may_send(owner, path));
    auto const send_as = [&](uid_t uid, std::string const& text) {
        REQUIRE(succeeds_as(uid, [&] { return raw_sender(socket)(text); }));
        REQUIRE(ear->drain({}, [](ration::job_id, pid_t) { return true; }, notebook()));
    };
    send_as(owner, message_text("hello", 1, " w=1 rx=" + controls + "/rx.1"));
    CHECK(ear->counts().accepted == 1);
    send_as(0, message_text("hb", 2));  // only root gets this far, with the token of the job
    CHECK(ear->counts().wrong_uid == 1);
    send_as(owner, message_text("hello", 3, " w=1 rx=" + (place / "run/rx.1")));
    CHECK(ear->counts().malformed == 1);
    CHECK(adds_up(ear->counts()));
    struct stat about{};
    REQUIRE(::stat((place / "run").c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0711);
    ear->forget({7});
    CHECK_FALSE(std::filesystem::exists(socket));
}

TEST_CASE("a user who fills their own queue delays no message of another", "[receiver]") {
    if (::geteuid() != 0) {
        WARN("not run: only root can make sockets of other users");
        return;
    }
    constexpr uid_t flooder = 60'001, honest = 60'002;
    scratch const place;
    std::filesystem::permissions(place / ".", std::filesystem::perms{0711});
    auto const path = place / "run/p.sock";
    auto ear = rp::receiver::open(path, rp::audience::everybody);
    REQUIRE(ear);
    rp::job_user const users[]{{.uid = flooder, .control_directory = "/a"}, {.uid = honest, .control_directory = "/b"}};
    REQUIRE(ear->register_job({7}, "flood", {1}, token, &users[0]));
    REQUIRE(ear->register_job({8}, "vae", {1}, token, &users[1]));
    raw_sender const flood(std::string(rp::receiver::path_of(path, flooder).view()));
    while (flood("junk")) {
    }
    std::vector<int> polled;
    CHECK(ear->join({}, [&](int fd) { polled.push_back(fd); }).count == INT64_MAX);
    CHECK(polled.size() == 3);
    std::string const own(rp::receiver::path_of(path, honest).view());
    REQUIRE(succeeds_as(honest, [&] { return raw_sender(own)(message_text("hb", 1)); }));
    notebook got;
    REQUIRE(ear->drain({}, [](ration::job_id, pid_t) { return true; }, got));
    CHECK(got.all.size() == 1);
    CHECK(ear->counts().malformed + ear->counts().wrong_uid > 0);
}

TEST_CASE("descriptors that come along are never taken in", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    auto const before = open_descriptors();
    for (int at = 1; at <= 8; ++at) REQUIRE(send_with_descriptor(sender, message_text("hb", at), STDERR_FILENO));
    ear.drain();
    CHECK(ear->counts().accepted == 8);
    CHECK(open_descriptors() == before);
}

TEST_CASE("one call hands on 256 messages at most", "[receiver]") {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(!lengthen_queues() ? 77 : drains_by_256() ? 0 : 1);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        WARN("not run: only root can make a network namespace with a longer queue");
        return;
    }
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a storm of wrong tokens costs the honest job no loss", "[receiver]") {
    listener ear;
    ear.set_environment();
    constexpr std::uint64_t storm = 20'000;
    std::atomic<bool> over{false};
    std::atomic<bool> done{false};
    std::uint64_t steps = 0;
    raw_sender const sender(ear.path);
    std::thread liar([&] {
        for (std::uint64_t at = 0; at < storm; ++at) {
            while (!sender("P1 hb e=1 k=ffffffffffffffff j=vae r=0 q=1", 0)) {
            }
        }
        over = true;
    });
    std::thread honest([&] {
        auto* const p = ration_progress_open();
        while (!over || p->finite_ != 0) {
            ration_progress_step(p, ++steps, 1.0, 0);
            ration_progress_flush_(p);  // sooner than a fifth of a second: more messages into the storm
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        ration_progress_close(p);
        done = true;
    });
    while (!done) ear.drain(monotonic());
    liar.join();
    honest.join();
    ear.drain(monotonic());
    CHECK(ear->counts().wrong_token == storm);
    CHECK(ear->counts().losses == steps);
    CHECK(ear->counts().lost == 0);
    CHECK(ear->counts().rate_limited == 0);
    CHECK(adds_up(ear->counts()));
}
