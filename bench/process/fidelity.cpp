// SPDX-License-Identifier: BSL-1.0
// How near to its share does the process backend keep a busy job? 10, 25, 50 and 75 % of one core, by one thread and by
// two. The truth is the kernel's account of the ended job, not the clock that the backend steers by. Usage: fidelity
// [seconds per measurement, 5]. Exit code 1 when one is more than 5 points off.
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <ration/process/backend.hpp>
#include <ration/process/launch.hpp>

using namespace ration;

namespace {

struct measurement {
    double share = 0;    // of one core, %
    double waited = 0;   // of the time, % of one core: ready to run, but other programs had the CPUs
    double own = 0;      // what the controller used for it, %
    double wakeups = 0;  // of the controller, per second
};

[[noreturn]] void burn(int threads) {
    std::vector<std::thread> crew;
    for (int i = 0; i < threads; ++i) {
        crew.emplace_back([] {
            for (std::atomic<unsigned> n = 0;;) n.fetch_add(1, std::memory_order_relaxed);
        });
    }
    for (std::thread& t : crew) t.join();
    std::exit(0);
}

[[noreturn]] void fail(error const& e) {
    std::fprintf(stderr, "%s: %s: %s\n", e.operation, e.subject.c_str(), e.remedy);
    std::exit(2);
}

unsigned follow(process::backend& backend, nanoseconds until) {
    unsigned wakeups = 0;
    for (nanoseconds time = process::now(); time < until; time = process::now(), ++wakeups) {
        nanoseconds const wait = std::min(until, backend.next_wakeup()) - time;
        if (wait.count > 0) {
            timespec const t{.tv_sec = wait.count / 1'000'000'000, .tv_nsec = wait.count % 1'000'000'000};
            ::ppoll(nullptr, 0, &t, nullptr);
        }
        backend.run_due(process::now());
    }
    return wakeups;
}

// From /proc/<pid>/task/<tid>/schedstat: time on a CPU, time waiting for one, in nanoseconds.
double waited_for_cpu(pid_t pid) {
    double sum = 0;
    static_cast<void>(process::detail::for_each_thread(pid, [&](pid_t thread) {
        std::string const path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/schedstat";
        std::array<char, 128> buffer{};
        std::string_view line = process::detail::read_some(AT_FDCWD, path.c_str(), buffer);
        std::int64_t ran = 0, waited = 0;
        sum += process::detail::take(line, ran) && process::detail::take(line, waited) ? to_seconds({waited}) : 0;
    }));
    return sum;
}

measurement measure(process::backend& backend, std::int64_t share, int threads, double length) {
    job_id const job{1};
    std::vector<process::operation> plan;
    auto place = [&](pid_t pid) -> result<void> {
        if (auto const added = backend.add(job, {.pid = pid}); !added) return added;
        return backend.plan({.job = job, .node = 0, .resource = resource_id::cpu, .amount = share}, plan);
    };
    process::launch_spec const spec{
        .command = {"/proc/self/exe", "--burn", std::to_string(threads)}, .capture_output = false, .place = place};
    auto started = process::launch(spec);
    if (!started) fail(started.failure());
    nanoseconds const begin = process::now();
    std::clock_t const own = std::clock();
    for (process::operation const& op : plan)
        if (auto const applied = backend.apply(op); !applied) fail(applied.failure());
    unsigned const wakeups = follow(backend, begin + seconds(length));
    double const spent = static_cast<double>(std::clock() - own) / CLOCKS_PER_SEC;
    double const waited = waited_for_cpu(started->pid());
    if (auto const killed = backend.kill(job); !killed) fail(killed.failure());
    double const elapsed = to_seconds(process::now() - begin);
    auto const report = started->wait_for(seconds(1));
    static_cast<void>(backend.remove(job));
    return {.share = 100 * to_seconds(report ? report->cpu_time : nanoseconds{}) / elapsed,
            .waited = 100 * waited / elapsed,
            .own = 100 * spent / elapsed,
            .wakeups = wakeups / elapsed};
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 3 && std::string(arguments[1]) == "--burn") burn(std::atoi(arguments[2]));
    double const length = count > 1 ? std::atof(arguments[1]) : 5;
    auto backend = process::backend::open();
    if (!backend) fail(backend.failure());
    std::printf("threads  asked   got     off    waited  controller  wakeups/s\n");
    double worst = 0;
    for (int const threads : {1, 2}) {
        for (std::int64_t const share : {100, 250, 500, 750}) {
            measurement const m = measure(*backend, share, threads, length);
            double const off = m.share - static_cast<double>(share) / 10;
            std::printf("%7d  %4.1f %%  %4.1f %%  %+5.2f  %5.1f %%  %8.2f %%  %9.0f\n", threads,
                        static_cast<double>(share) / 10, m.share, off, m.waited, m.own, m.wakeups);
            std::fflush(stdout);
            worst = std::max(worst, std::abs(off));
        }
    }
    std::printf("worst: %.2f points (allowed: 5)%s\n", worst,
                worst <= 5
                    ? ""
                    : "; where the job waited for a CPU, other programs were in the way: measure on a quiet machine");
    return worst <= 5 ? 0 : 1;
}
