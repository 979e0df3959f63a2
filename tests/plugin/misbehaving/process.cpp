// SPDX-License-Identifier: BSL-1.0
// What an instance does to the process around it.
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "misbehaving.hpp"

namespace misbehaving {
namespace {

#if MISBEHAVIOUR == 1
// Inside dlopen, before any host can look at anything.
__attribute__((constructor)) void crash_while_loading() { raise(SIGSEGV); }
#endif

#if MISBEHAVIOUR == 3
/// A destructor that has to run when the thread ends keeps the library until then.
struct tied_to_a_thread {
    char const* volatile use = "";
    ~tied_to_a_thread() { use = nullptr; }
};
thread_local tied_to_a_thread tie;
#endif

[[maybe_unused]] void ignore(int) {}

[[maybe_unused]] void* sleep_for_ever(void*) {
    for (;;) pause();
}

#if MISBEHAVIOUR == 54
int instances = 0;
std::atomic<bool> is_over{false};
pthread_t helper;

void* wait_for_the_end(void*) {
    while (!is_over) usleep(1000);
    return nullptr;
}
#endif

[[maybe_unused]] void block(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

/// Stays on one of the CPUs that it may use.
[[maybe_unused]] void settle_on_one_cpu() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

void on_create([[maybe_unused]] char* err, [[maybe_unused]] std::uint64_t err_size) {
#if MISBEHAVIOUR == 3
    tie.use = "now";
#elif MISBEHAVIOUR == 4
    throw refusal();
#elif MISBEHAVIOUR == 5
    std::signal(SIGUSR1, &ignore);
#elif MISBEHAVIOUR == 6
    static_cast<void>(!chdir("/"));
#elif MISBEHAVIOUR == 8
    pthread_t thread;
    pthread_create(&thread, nullptr, &sleep_for_ever, nullptr);
#elif MISBEHAVIOUR == 54
    is_over = false;
    if (instances++ == 0) pthread_create(&helper, nullptr, &wait_for_the_end, nullptr);
#elif MISBEHAVIOUR == 43
    setenv("RATION_MISBEHAVING", "1", 1);
#elif MISBEHAVIOUR == 63
    static_cast<void>(open("/usr/lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
#elif MISBEHAVIOUR == 64
    block(SIGTERM);
#elif MISBEHAVIOUR == 65
    settle_on_one_cpu();
#elif MISBEHAVIOUR == 66
    umask(0);
#elif MISBEHAVIOUR == 67
    std::setlocale(LC_ALL, "C.UTF-8");
#endif
}

void on_destroy(instance*) {
#if MISBEHAVIOUR == 54
    if (--instances > 0) return;
    is_over = true;
    pthread_join(helper, nullptr);
#endif
}

}  // namespace misbehaving
