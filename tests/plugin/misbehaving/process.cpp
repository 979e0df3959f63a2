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

/// Runs inside dlopen, before any host can look at anything.
[[gnu::constructor]] void crash_while_loading() {
    if constexpr (is(misbehaviour::crashes_while_loading)) raise(SIGSEGV);
}

/// A destructor that has to run when the thread ends keeps the library until then.
struct tied_to_a_thread {
    char const* volatile use = "";
    ~tied_to_a_thread() { use = nullptr; }
};

void tie_to_thread() {
    thread_local tied_to_a_thread tie;
    tie.use = "now";
}

void ignore(int) {}

void* sleep_until_killed(void*) {
    for (;;) pause();
}

void leave_thread() {
    pthread_t thread;
    pthread_create(&thread, nullptr, &sleep_until_killed, nullptr);
}

/// A thread that all instances share. It ends with the last one, so that nothing is left behind; the manifest does not
/// declare it.
class hidden_thread {
    int instances_ = 0;
    std::atomic<bool> is_over_{false};
    pthread_t helper_{};

    static void* wait_for_the_end(void* self) {
        while (!static_cast<hidden_thread*>(self)->is_over_) usleep(1000);
        return nullptr;
    }

public:
    void add() {
        is_over_ = false;
        if (instances_++ == 0) pthread_create(&helper_, nullptr, &wait_for_the_end, this);
    }
    void remove() {
        if (--instances_ > 0) return;
        is_over_ = true;
        pthread_join(helper_, nullptr);
    }
};

hidden_thread helper;

void block(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

/// Stays on one of the CPUs that it may use.
void settle_on_one_cpu() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

void on_create() {
    if constexpr (is(misbehaviour::stays_loaded)) tie_to_thread();
    if constexpr (is(misbehaviour::throws_in_create)) throw refusal();
    if constexpr (is(misbehaviour::replaces_signal_handler)) std::signal(SIGUSR1, &ignore);
    if constexpr (is(misbehaviour::changes_directory)) static_cast<void>(!chdir("/"));
    if constexpr (is(misbehaviour::leaves_thread)) leave_thread();
    if constexpr (is(misbehaviour::hides_own_thread)) helper.add();
    if constexpr (is(misbehaviour::sets_environment_variable)) setenv("RATION_MISBEHAVING", "1", 1);
    if constexpr (is(misbehaviour::leaks_descriptor))
        static_cast<void>(open("/usr/lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if constexpr (is(misbehaviour::blocks_signal)) block(SIGTERM);
    if constexpr (is(misbehaviour::pins_thread)) settle_on_one_cpu();
    if constexpr (is(misbehaviour::changes_umask)) umask(0);
    if constexpr (is(misbehaviour::changes_locale)) std::setlocale(LC_ALL, "C.UTF-8");
}

void on_destroy() {
    if constexpr (is(misbehaviour::hides_own_thread)) helper.remove();
}

}  // namespace misbehaving
