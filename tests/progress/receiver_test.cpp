// SPDX-License-Identifier: BSL-1.0
// What the receiver accepts, refuses and counts, over a real socket.
#include <fstream>
#include <set>
#include <string>
#include <sys/stat.h>

#include <ration/progress/token.hpp>

#include "support.hpp"

using namespace progress_test;
using ration::errc;
using ration::job_id;

namespace {

unsigned mode_of(std::string const& path) {
    struct stat about{};
    REQUIRE(::lstat(path.c_str(), &about) == 0);
    return about.st_mode & 0777U;
}

void send_step(raw_sender const& sender, int sequence, int step, int incarnation = 1) {
    REQUIRE(sender(message_text("step", sequence, " s=" + std::to_string(step) + " c=1 l=1", incarnation)));
}

}  // namespace

TEST_CASE("the socket and its directory are the owner's alone, and go with the receiver", "[receiver]") {
    auto const before = ::umask(0);
    {
        listener ear;
        CHECK(mode_of(ear.path) == 0600);
        CHECK(mode_of(ear.place / "run") == 0700);
        ear.stop();
        CHECK_FALSE(std::filesystem::exists(ear.path));
        CHECK_FALSE(std::filesystem::exists(ear.place / "run"));
    }
    ::umask(before);
}

TEST_CASE("a path that cannot be a socket is refused with a reason", "[receiver]") {
    scratch const place;
    auto const code_of = [](std::string const& path) {
        auto const opened = rp::receiver::open(path);
        REQUIRE_FALSE(opened);
        CHECK(*opened.failure().remedy != '\0');
        return opened.failure().code;
    };
    CHECK(code_of("relative/p.sock") == errc::invalid_value);
    CHECK(code_of("/p.sock") == errc::invalid_value);
    CHECK(code_of(place / std::string(107, 'x')) == errc::out_of_range);
    CHECK(code_of(place / "a/b/p.sock") == errc::not_found);

    std::filesystem::create_directory(place / "open");
    std::filesystem::permissions(place / "open", std::filesystem::perms{0755});
    CHECK(code_of(place / "open/p.sock") == errc::denied);
    std::filesystem::create_directory_symlink(place / "open", place / "link");
    CHECK(code_of(place / "link/p.sock") == errc::denied);

    std::filesystem::permissions(place / "open", std::filesystem::perms{0700});
    std::ofstream(place / "open/p.sock") << "mine";
    CHECK(code_of(place / "open/p.sock") == errc::already_exists);
    CHECK(std::filesystem::file_size(place / "open/p.sock") == 4);
}

TEST_CASE("the longest path that a socket can have works", "[receiver]") {
    scratch const place;
    auto path = place / "d/";
    path.append(107 - path.size(), 's');
    auto opened = rp::receiver::open(path);
    REQUIRE(opened);
    CHECK(opened->path() == path);
    raw_sender const sender(path);
    CHECK(sender("x"));
}

TEST_CASE("a dead receiver's socket is taken over, a living one's is not", "[receiver]") {
    scratch const place;
    auto const path = place / "run/p.sock";
    std::filesystem::create_directory(place / "run");
    std::filesystem::permissions(place / "run", std::filesystem::perms{0700});
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    int const dead = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    REQUIRE(::bind(dead, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0);
    ::close(dead);

    auto first = rp::receiver::open(path);
    REQUIRE(first);
    auto const second = rp::receiver::open(path);
    REQUIRE_FALSE(second);
    CHECK(second.failure().code == errc::already_exists);
    raw_sender const sender(path);
    CHECK(sender("still the first one's"));
}

TEST_CASE("a job needs a name, an id and a later incarnation of its own", "[receiver]") {
    listener ear;
    auto const code_of = [&](job_id id, std::string_view name, std::uint32_t run, std::string_view with = token) {
        auto const done = ear->register_job(id, name, {run}, with);
        return done ? errc{} : done.failure().code;
    };
    CHECK(code_of({8}, "vae", 1) == errc::already_exists);
    CHECK(code_of({7}, "gan", 2) == errc::already_exists);
    CHECK(code_of({7}, "vae", 1) == errc::conflict);
    CHECK(code_of({7}, "vae", 2) == errc{});
    CHECK(code_of({8}, "gan", 1) == errc{});
    CHECK(code_of({9}, "", 1) == errc::invalid_value);
    CHECK(code_of({9}, "a b", 1) == errc::invalid_value);
    CHECK(code_of({9}, "a=b", 1) == errc::invalid_value);
    CHECK(code_of({9}, std::string(65, 'n'), 1) == errc::invalid_value);
    CHECK(code_of({9}, std::string(64, 'n'), 1) == errc{});
    CHECK(code_of({10}, "short", 1, "0123456789abcde") == errc::invalid_value);
}

TEST_CASE("an accepted message reaches the sink with the kernel's word on the sender", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    REQUIRE(sender(message_text("eval", 1, " s=4 m=accuracy v=0.5")));
    REQUIRE(sender(message_text("step", 2, " s=5 c=3 l=0.5 nf=2")));
    ear.drain();
    REQUIRE(ear.reported.all.size() == 2);
    auto const& first = ear.reported.all[0];
    CHECK(first.update.job == job_id{7});
    CHECK(first.update.run == ration::incarnation_id{1});
    CHECK(first.update.process == ::getpid());
    CHECK(first.metric == "accuracy");
    CHECK(ear->counts().losses == 3);
    CHECK(ear->counts().non_finite == 2);
    CHECK(ear->counts_of({7})->accepted == 2);
    CHECK(ear->counts_of({8}) == nullptr);
}

TEST_CASE("each refusal is counted by its reason, for the run and for the job", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    auto const swap = [](std::string text, std::string const& from, std::string const& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    CHECK(sender("P1 nonsense"));
    CHECK(sender(swap(message_text("hb", 1), "j=vae", "j=gan")));
    CHECK(sender(message_text("hb", 1, "", 2)));
    CHECK(sender(swap(message_text("hb", 1), "0123456789abcdef", "0123456789abcdeF")));
    CHECK(sender(swap(message_text("hb", 1), "0123456789abcdef", "0123456789abcde")));
    CHECK(sender(message_text("hb", 1) + " z=" + std::string(1025 - message_text("hb", 1).size() - 3, 'z')));
    CHECK(sender(message_text("hb", 5)));
    CHECK(sender(message_text("hb", 5)));
    CHECK(sender(message_text("hb", 4)));
    CHECK(sender(message_text("sing", 6)));
    ear.drain();
    auto const& all = ear->counts();
    CHECK(all.received == 10);
    CHECK(all.malformed == 1);
    CHECK(all.unknown_job == 1);
    CHECK(all.stale == 1);
    CHECK(all.wrong_token == 2);
    CHECK(all.truncated == 1);
    CHECK(all.duplicate == 2);
    CHECK(all.unknown_type == 1);
    CHECK(all.accepted == 1);
    CHECK(adds_up(all));
    CHECK(ear->counts_of({7})->stale == 1);
    CHECK(ear->counts_of({7})->wrong_token == 2);
    CHECK(ear->counts_of({7})->malformed == 0);
    CHECK(adds_up(*ear->counts_of({7})));
    CHECK(ear.reported.all.size() == 1);
}

TEST_CASE("a gap in the sequence is what was lost; a new sender has none", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    send_step(sender, 40, 1);
    send_step(sender, 41, 2);
    send_step(sender, 45, 3);
    ear.drain();
    CHECK(ear->counts().lost == 3);
    CHECK(ear->counts().accepted == 3);
    REQUIRE(sender(message_text("hello", 1, " w=1")));  // the process has opened its handle again
    send_step(sender, 2, 4);
    ear.drain();
    CHECK(ear->counts().lost == 3);
    CHECK(ear->counts().accepted == 5);
    CHECK(ear->counts().duplicate == 0);
}

TEST_CASE("a lower step within an incarnation is a rollback", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    send_step(sender, 1, 10);
    send_step(sender, 2, 10);
    send_step(sender, 3, 9);
    send_step(sender, 4, 10);
    ear.drain();
    REQUIRE(ear.reported.all.size() == 4);
    CHECK_FALSE(ear.reported.all[1].update.rollback);
    CHECK(ear.reported.all[2].update.rollback);
    CHECK_FALSE(ear.reported.all[3].update.rollback);
}

TEST_CASE("a new incarnation clears sequences and steps, and makes the old one stale", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    send_step(sender, 50, 900);
    ear.drain();
    REQUIRE(ear->register_job({7}, "vae", {2}, token));
    send_step(sender, 51, 901);
    send_step(sender, 1, 1, 2);
    ear.drain();
    CHECK(ear->counts().stale == 1);
    CHECK(ear->counts().accepted == 2);
    CHECK_FALSE(ear.reported.all.back().update.rollback);
    CHECK(ear->counts_of({7})->accepted == 2);
}

TEST_CASE("a job that is forgotten is unknown, its counts stay in the sum", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    send_step(sender, 1, 1);
    ear.drain();
    ear->forget({7});
    send_step(sender, 2, 2);
    ear.drain();
    CHECK(ear->counts().accepted == 1);
    CHECK(ear->counts().unknown_job == 1);
    CHECK(ear->counts_of({7}) == nullptr);
}

TEST_CASE("a process outside of the job is refused, and asked about again", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    int asked = 0;
    bool inside = false;
    auto const belongs = [&](job_id job, pid_t process) {
        ++asked;
        CHECK(job == job_id{7});
        CHECK(process == ::getpid());
        return inside;
    };
    send_step(sender, 1, 1);
    REQUIRE(ear->drain({}, belongs, ear.reported));
    CHECK(ear->counts().wrong_process == 1);
    inside = true;
    send_step(sender, 2, 2);
    send_step(sender, 3, 3);
    REQUIRE(ear->drain({}, belongs, ear.reported));
    CHECK(ear->counts().accepted == 2);
    CHECK(asked == 2);
}

TEST_CASE("a job may say so much and no more, another is not touched by that", "[receiver]") {
    listener ear;
    REQUIRE(ear->register_job({8}, "gan", {1}, token));
    raw_sender const sender(ear.path);
    for (int at = 1; at <= 1500; ++at) {
        send_step(sender, at, at);
        ear.drain();
    }
    CHECK(ear->counts().accepted == 1000);
    CHECK(ear->counts().rate_limited == 500);
    CHECK(ear->counts().lost == 0);
    CHECK(sender("P1 hb e=1 k=0123456789abcdef j=gan r=0 q=1501"));
    ear.drain();
    CHECK(ear->counts().accepted == 1001);
    for (int at = 1502; at <= 1520; ++at) {
        send_step(sender, at, at);
        ear.drain(ration::milliseconds(10));
    }
    CHECK(ear->counts().accepted == 1011);
    CHECK(adds_up(ear->counts()));
}

TEST_CASE("a receiver is left alone for a moment only when messages come by the thousand", "[receiver]") {
    listener ear;
    raw_sender const sender(ear.path);
    auto const second = [&](int from, int messages) {
        for (int at = 0; at < messages; ++at) {
            REQUIRE(sender("junk"));
            ear.drain(ration::milliseconds(from * 1000 + at * 1000 / messages));
        }
        return ear->rest().count;
    };
    CHECK(ear->rest().count == 0);
    CHECK(second(1, 500) == 0);
    CHECK(second(2, 4000) > 0);
    CHECK(second(3, 1000) == 0);
}

TEST_CASE("more senders than places: the one silent for longest gives way", "[receiver]") {
    rp::detail::registry_entry job;
    std::uint64_t gap = 0;
    rp::message reply;
    for (pid_t process = 1; process <= 65; ++process) {
        reply.sequence = 10;
        auto& from = job.add(process);
        REQUIRE(job.in_order(from, reply, gap));
        if (process == 64) {
            reply.sequence = 11;
            REQUIRE(job.in_order(*job.find(1), reply, gap));
        }
    }
    CHECK(job.find(1) != nullptr);
    CHECK(job.find(2) == nullptr);
    CHECK(job.find(3) != nullptr);
    CHECK(job.find(65) != nullptr);
}

TEST_CASE("tokens are 16 hexadecimal digits, each another", "[receiver]") {
    std::set<std::string> seen;
    for (int at = 0; at < 100; ++at) {
        auto const drawn = rp::random_token();
        REQUIRE(drawn);
        CHECK(drawn->view().size() == 16);
        CHECK(drawn->view().find_first_not_of("0123456789abcdef") == std::string_view::npos);
        seen.insert(std::string(drawn->view()));
    }
    CHECK(seen.size() == 100);
}
