// SPDX-License-Identifier: BSL-1.0
// 100 processes report 100 times a second each, through the C client and a real socket, for five seconds: is every loss
// accounted for, and what share of one core does the receiver take? Three rows: senders spread over time; all in step;
// spread, while one more process floods the socket with wrong tokens. Exit code 0: the totals agree. 1: they do not. 2:
// the run could not be set up.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <ration/progress/client.h>
#include <ration/progress/receiver.hpp>

namespace {

constexpr int senders = 100;
constexpr int steps = 500;                     // of each sender
constexpr std::int64_t interval = 10'000'000;  // ns
constexpr char const* token = "0123456789abcdef";

/// The messages that one sender has sent.
struct account {
    std::uint64_t losses;
    std::uint64_t messages;
    std::uint64_t refused;  ///< tries that found the queue full
    double sum;
};

std::int64_t now_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void sleep_until(std::int64_t at) {
    timespec const t{at / 1'000'000'000, at % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string name_of(int sender) { return "job-" + std::to_string(sender); }

/// The child's whole life. Does not return.
[[noreturn]] void send(int sender, std::int64_t start, account& mine) {
    ::setenv("RATION_JOB", name_of(sender).c_str(), 1);
    auto* const p = ration_progress_open();
    for (int at = 0; at < steps; ++at) {
        sleep_until(start + at * interval);
        double const loss = 1.0 + at % 7 + sender;
        ration_progress_step(p, static_cast<std::uint64_t>(at) + 1, loss, steps);
        ration_progress_flush_(p);  // the client alone would send five a second
        ++mine.losses;
        mine.sum += loss;
        mine.refused += p->finite_ != 0 ? 1 : 0;
    }
    while (p->finite_ != 0) {
        ::usleep(1000);
        ration_progress_flush_(p);
    }
    mine.messages = p->sequence_;
    ration_progress_close(p);
    ::_exit(0);
}

/// Sends what will be refused, as fast as the queue takes it, until it is killed. Does not return.
[[noreturn]] void flood(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    int const socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    std::string const lie = "P1 hb e=1 k=ffffffffffffffff j=job-0 r=0 q=1";
    while (::connect(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
    }
    for (;;) ::send(socket, lie.data(), lie.size(), 0);
}

struct outcome {
    account sent{};
    ration::progress::totals got{};
    double got_sum = 0;
    double cpu = 0, wall = 0;
    std::uint64_t wakeups = 0;
};

/// Receives until every sender has ended and the queue is empty.
void receive(ration::progress::receiver& ear, std::vector<pid_t> const& children, pid_t liar, outcome& out) {
    auto const belongs = [&](ration::job_id, pid_t process) { return std::ranges::binary_search(children, process); };
    auto const sink = [&](ration::progress::update const& reported) {
        out.got_sum += reported.body.loss_mean * static_cast<double>(reported.body.loss_count);
    };
    double const cpu = cpu_seconds();
    auto const start = now_ns();
    auto looked = start;
    for (std::size_t alive = children.size(); alive != 0 || liar != 0;) {
        pollfd waiting{ear.fd(), POLLIN, 0};
        out.wakeups += ::poll(&waiting, 1, 100) > 0 ? 1 : 0;
        auto const now = now_ns();
        if (!ear.drain({now}, belongs, sink)) return;
        if (timespec const rest{0, ear.rest().count}; rest.tv_nsec != 0) ::nanosleep(&rest, nullptr);
        if (now - looked < 100'000'000) continue;
        looked = now;
        while (alive != 0 && ::waitpid(0, nullptr, WNOHANG) > 0) --alive;
        if (alive == 0 && liar != 0) {
            ::kill(liar, SIGKILL);
            ::waitpid(liar, nullptr, 0);
            liar = 0;
        }
    }
    while (*ear.drain({now_ns()}, belongs, sink)) {
    }
    out.cpu = cpu_seconds() - cpu;
    out.wall = 1e-9 * static_cast<double>(now_ns() - start);
    out.got = ear.counts();
}

outcome listen(std::string const& path, bool in_step, bool with_liar, account* accounts) {
    auto ear = ration::progress::receiver::open(path);
    if (!ear) std::exit(2);
    ::setenv("RATION_PROGRESS", ("unix:" + path).c_str(), 1);
    ::setenv("RATION_INCARNATION", "1", 1);
    ::setenv("RATION_TOKEN", token, 1);
    std::vector<pid_t> children;
    auto const start = now_ns() + 300'000'000;
    for (int sender = 0; sender < senders; ++sender) {
        if (!ear->register_job({static_cast<std::uint64_t>(sender)}, name_of(sender), {1}, token)) std::exit(2);
        pid_t const child = ::fork();
        if (child == 0) send(sender, start + (in_step ? 0 : sender * interval / senders), accounts[sender]);
        children.push_back(child);
    }
    pid_t const liar = with_liar ? ::fork() : -1;
    if (liar == 0) flood(path);
    std::ranges::sort(children);
    outcome out;
    receive(*ear, children, std::max(liar, 0), out);
    return out;
}

outcome run(bool in_step, bool with_liar) {
    std::string folder = "/tmp/ration-flood-XXXXXX";
    auto* const accounts = static_cast<account*>(
        ::mmap(nullptr, sizeof(account) * senders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (::mkdtemp(folder.data()) == nullptr || accounts == MAP_FAILED) std::exit(2);
    auto out = listen(folder + "/p.sock", in_step, with_liar, accounts);
    ::rmdir(folder.c_str());
    for (int sender = 0; sender < senders; ++sender) {
        out.sent.losses += accounts[sender].losses;
        out.sent.messages += accounts[sender].messages;
        out.sent.refused += accounts[sender].refused;
        out.sent.sum += accounts[sender].sum;
    }
    ::munmap(accounts, sizeof(account) * senders);
    return out;
}

bool print(char const* name, outcome const& o) {
    bool const agree = o.sent.losses == std::uint64_t{senders} * steps && o.got.losses == o.sent.losses &&
                       o.got.accepted == o.sent.messages && o.got.received == o.got.accepted + o.got.wrong_token &&
                       o.got.lost == 0 && std::abs(o.got_sum - o.sent.sum) <= 1e-9 * o.sent.sum;
    auto const count = [](std::uint64_t n) { std::printf(" %8llu", static_cast<unsigned long long>(n)); };
    std::printf("%-8s", name);
    for (auto const n : {o.sent.losses, o.got.losses, o.sent.messages, o.got.accepted, o.sent.refused,
                         o.got.wrong_token, o.got.lost}) {
        count(n);
    }
    double const length = 1e-9 * steps * static_cast<double>(interval);
    std::printf(" %8.2f %8.0f %8.1f %7.1f%%  %s\n", o.wall, static_cast<double>(o.got.accepted) / length,
                static_cast<double>(o.got.received) / static_cast<double>(std::max<std::uint64_t>(o.wakeups, 1)),
                100 * o.cpu / o.wall, agree ? "agree" : "DIFFER");
    return agree;
}

}  // namespace

int main() {
    std::printf("%d senders, %d reports each, one every %lld ms\n\n", senders, steps,
                static_cast<long long>(interval / 1'000'000));
    std::printf("%-8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s  %s\n", "senders", "losses", "got", "messages", "got",
                "refused", "lies", "lost", "wall s", "mess./s", "per wake", "of core", "totals");
    std::fflush(stdout);
    bool const spread = print("spread", run(false, false));
    std::fflush(stdout);
    bool const in_step = print("in step", run(true, false));
    std::fflush(stdout);
    bool const flooded = print("flooded", run(false, true));
    std::printf("\nrefused: tries that found the queue full; a later message carried their content\n");
    return spread && in_step && flooded ? 0 : 1;
}
