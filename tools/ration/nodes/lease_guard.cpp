// SPDX-License-Identifier: BSL-1.0
#include "nodes/lease_guard.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "nodes/node_lease.hpp"
#include "nodes/node_orphans.hpp"

namespace ration::program {
namespace {

/// Time for the agent beside the time that its jobs need. The controller waits longer.
constexpr nanoseconds guard_margin = seconds(2);
constexpr nanoseconds longest_grace = seconds(5);
/// After a suspend of the machine, the lease can be over although this long has not been slept.
constexpr nanoseconds longest_guard_wait = seconds(1);
constexpr int agent_fd = 0, lock_fd = 1;

using shared_time = std::atomic<std::int64_t>;
static_assert(shared_time::is_always_lock_free);

[[nodiscard]] bool has_ended(nanoseconds longest) noexcept {
    pollfd agent{agent_fd, POLLIN, 0};
    return ::poll(&agent, 1, static_cast<int>(longest.count / 1'000'000)) == 1;
}

/// Keeps only the agent's pidfd and the lock: an open pipe of the agent would hide its end from the controller.
void close_others(int agent, int lock) noexcept {
    int const null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (::dup2(agent, agent_fd) < 0 || ::dup2(lock, lock_fd) < 0 || ::dup2(null, STDERR_FILENO) < 0) ::_exit(1);
    ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U);
}

[[noreturn]] void stand_guard(guard_task const& task, shared_time const& until, int agent) {
    ::setsid();
    ::prctl(PR_SET_NAME, "lease-guard", 0UL, 0UL, 0UL);
    close_others(agent, task.lock.get());
    auto const left = [&] { return nanoseconds{until.load()} + task.ending - lease_clock(); };
    bool ended = false;
    while (!ended && left() + guard_margin > nanoseconds{})
        ended = has_ended(std::clamp(left() + guard_margin, milliseconds(1), longest_guard_wait));
    if (!ended) static_cast<void>(process::detail::send_signal(agent_fd, SIGKILL));
    while (!has_ended(longest_guard_wait)) {
    }
    // Jobs that ignore SIGTERM end one after the other, and the last one in time
    auto const share = left().count / static_cast<std::int64_t>(task.jobs + 1);
    auto const grace = std::clamp(nanoseconds{share}, nanoseconds{}, longest_grace);
    bool const done(end_node_orphans(task.folder, task.record, grace));
    if (done) node_lock::remove_file(task.lock.path(), lock_fd);
    ::_exit(done ? 0 : 1);
}

}  // namespace

void lease_guard::unmap::operator()(shared_time* mapped) const noexcept { ::munmap(mapped, sizeof *mapped); }

result<lease_guard> lease_guard::start(guard_task task, nanoseconds until) {
    lease_guard out(std::move(task));
    void* const page = ::mmap(nullptr, sizeof(shared_time), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return process::system_error("start the guard of the lease", "agent", errno, "free some memory on the node");
    out.until_.reset(new (page) shared_time(until.count));
    if (auto const started = out.start_process(); !started) return started.failure();
    return out;
}

/// All signals stay blocked in the guard, because it must survive the ones that end the agent.
result<void> lease_guard::start_process() {
    auto const agent = process::above_standard(process::detail::open_pidfd(::getpid()));
    if (!agent)
        return process::system_error("start the guard of the lease", "agent", errno,
                                     "raise the limit on open files: ulimit -n");
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t const pid = ::fork();
    if (pid == 0) stand_guard(task_, *until_, agent.get());
    int const system = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0)
        return process::system_error("start the guard of the lease", "agent", system, "too many processes: ulimit -u");
    process_ = process::child(pid, 0, process::detail::open_pidfd(pid), process::descriptor{});
    return {};
}

void lease_guard::renew(nanoseconds until) {
    until_->store(until.count);
    if (process_.try_wait()) static_cast<void>(start_process());
}

void lease_guard::release() noexcept {
    static_cast<void>(process_.signal(SIGKILL));
    static_cast<void>(process_.wait_for(seconds(1)));
}

}  // namespace ration::program
