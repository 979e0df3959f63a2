// SPDX-License-Identifier: BSL-1.0
#include "kernel_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fmt/core.h>
#include <iterator>
#include <string_view>
#include <sys/syscall.h>
#include <ucontext.h>
#include <utility>

#include <ration/plugin/host/sandbox.hpp>
#include <ration/text.hpp>

#include "sandbox.hpp"

namespace ration::conformance {
namespace {

/// Memory and the time; other threads of the plugin's own; the end of this one, or of a probe that crashes.
constexpr unsigned granted[] = {
    __NR_mmap,         __NR_munmap,        __NR_mremap,
    __NR_mprotect,     __NR_madvise,       __NR_brk,
    __NR_futex,        __NR_sched_yield,   __NR_getpid,
    __NR_gettid,       __NR_clock_gettime, __NR_clock_getres,
    __NR_gettimeofday, __NR_rt_sigaction,  __NR_rt_sigprocmask,
    __NR_rt_sigreturn, __NR_sigaltstack,   __NR_tgkill,
    __NR_exit,         __NR_exit_group,    __NR_restart_syscall,
};

/// The calls whose names are familiar to a policy author. The others are reported by number.
constexpr std::pair<int, char const*> names[] = {
    {__NR_openat, "openat"},
    {__NR_read, "read"},
    {__NR_pread64, "pread"},
    {__NR_readv, "readv"},
    {__NR_write, "write"},
    {__NR_pwrite64, "pwrite"},
    {__NR_writev, "writev"},
    {__NR_close, "close"},
    {__NR_lseek, "lseek"},
    {__NR_newfstatat, "fstatat"},
    {__NR_fstat, "fstat"},
    {__NR_statx, "statx"},
    {__NR_fsync, "fsync"},
    {__NR_ioctl, "ioctl"},
    {__NR_fcntl, "fcntl"},
    {__NR_ppoll, "ppoll"},
    {__NR_epoll_pwait, "epoll_pwait"},
    {__NR_socket, "socket"},
    {__NR_connect, "connect"},
    {__NR_sendto, "sendto"},
    {__NR_recvfrom, "recvfrom"},
    {__NR_sendmsg, "sendmsg"},
    {__NR_recvmsg, "recvmsg"},
    {__NR_nanosleep, "nanosleep"},
    {__NR_clock_nanosleep, "clock_nanosleep"},
    {__NR_getrandom, "getrandom"},
    {__NR_clone, "clone"},
    {__NR_clone3, "clone3"},
    {__NR_execve, "execve"},
    {__NR_kill, "kill"},
    {__NR_execveat, "execveat"},
    {__NR_ptrace, "ptrace"},
    {__NR_tkill, "tkill"},
    {__NR_tgkill, "tgkill"},
    {__NR_rt_sigqueueinfo, "rt_sigqueueinfo"},
    {__NR_pidfd_open, "pidfd_open"},
    {__NR_pidfd_send_signal, "pidfd_send_signal"},
    {__NR_process_vm_readv, "process_vm_readv"},
    {__NR_process_vm_writev, "process_vm_writev"},
    {__NR_setsid, "setsid"},
    {__NR_setpgid, "setpgid"},
    {__NR_prctl, "prctl"},
    {__NR_prlimit64, "prlimit64"},
    {__NR_setrlimit, "setrlimit"},
    {__NR_setpriority, "setpriority"},
    {__NR_sched_setscheduler, "sched_setscheduler"},
    {__NR_sched_setattr, "sched_setattr"},
    {__NR_sched_setaffinity, "sched_setaffinity"},
    {__NR_unlinkat, "unlinkat"},
    {__NR_mkdirat, "mkdirat"},
    {__NR_renameat, "renameat"},
    {__NR_renameat2, "renameat2"},
    {__NR_linkat, "linkat"},
    {__NR_symlinkat, "symlinkat"},
    {__NR_mknodat, "mknodat"},
    {__NR_fchmodat, "fchmodat"},
    {__NR_fchownat, "fchownat"},
    {__NR_truncate, "truncate"},
    {__NR_ftruncate, "ftruncate"},
    {__NR_fallocate, "fallocate"},
    {__NR_openat2, "openat2"},
    {__NR_dup, "dup"},
    {__NR_dup3, "dup3"},
    {__NR_close_range, "close_range"},
    {__NR_memfd_create, "memfd_create"},
    {__NR_io_uring_setup, "io_uring_setup"},
    {__NR_shmget, "shmget"},
    {__NR_semget, "semget"},
    {__NR_msgget, "msgget"},
    {__NR_mq_open, "mq_open"},
    {__NR_unshare, "unshare"},
    {__NR_setns, "setns"},
    {__NR_mount, "mount"},
    {__NR_bpf, "bpf"},
    {__NR_socketpair, "socketpair"},
    {__NR_bind, "bind"},
#if defined(__x86_64__)
    {__NR_open, "open"},
    {__NR_stat, "stat"},
    {__NR_poll, "poll"},
    {__NR_select, "select"},
    {__NR_epoll_wait, "epoll_wait"},
    {__NR_creat, "creat"},
    {__NR_unlink, "unlink"},
    {__NR_rmdir, "rmdir"},
    {__NR_mkdir, "mkdir"},
    {__NR_rename, "rename"},
    {__NR_link, "link"},
    {__NR_symlink, "symlink"},
    {__NR_mknod, "mknod"},
    {__NR_chmod, "chmod"},
    {__NR_chown, "chown"},
    {__NR_fork, "fork"},
    {__NR_vfork, "vfork"},
    {__NR_dup2, "dup2"},
    {__NR_pipe, "pipe"},
#endif
};

/// The sandbox allows these calls when they open a file for reading.
[[nodiscard]] constexpr bool opens_a_file(int call) noexcept {
#if defined(__x86_64__)
    if (call == __NR_open) return true;
#endif
    return call == __NR_openat;
}

constexpr int none = -1;
std::atomic<int> refused{none};
std::atomic<bool> deciding{false};            // nothing but memory and time is granted
thread_local bool volatile remembers = true;  // a handler reads it, for the thread that it interrupts

/// Async-signal-safe.
[[nodiscard]] text<40> name_of(int call) noexcept {
    auto const known = std::ranges::find(names, call, &std::pair<int, char const*>::first);
    if (known == std::end(names)) {
        char digits[12];
        auto const end = std::to_chars(std::begin(digits), std::end(digits), call).ptr;
        return text<40>("system call ").append({digits, static_cast<std::size_t>(end - digits)});
    }
    text<40> name(known->second);
    return opens_a_file(call) && !deciding ? name.append(" to write to a file") : name;
}

/// Async-signal-safe.
void note(int call) noexcept {
    text<112> sentence("it called ");
    sentence.append(name_of(call)).append(", which the sandbox of a worker refuses");
    leave_note(sentence.c_str(), sentence.view().size());
}

void fail(void* context) noexcept {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    machine.gregs[REG_RAX] = -EPERM;
#else
    machine.regs[0] = static_cast<unsigned long long>(-EPERM);
#endif
}

/// The C library and CPython ask whether a file is a terminal, and take a refusal for a no.
[[nodiscard]] bool is_harmless(int call) noexcept { return !deciding && call == __NR_ioctl; }

void on_refused(int, siginfo_t* info, void* context) {
    int const call = info->si_syscall;
    int first = none;
    if (remembers && !is_harmless(call) && refused.compare_exchange_strong(first, call) && !deciding) note(call);
    fail(context);
}

}  // namespace

void remember_refused_calls() noexcept {
    struct sigaction action{};
    action.sa_sigaction = &on_refused;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSYS, &action, nullptr);
}

bool refuse_kernel_calls() noexcept {
    deciding = true;
    remember_refused_calls();
    plugin::detail::call_filter filter(SECCOMP_RET_TRAP);
    for (unsigned const call : granted) filter.answer(call, SECCOMP_RET_ALLOW);
    return filter.install();
}

std::string take_refused_call() {
    int const call = refused.exchange(none);
    return call == none ? std::string() : std::string(name_of(call).view());
}

calls_of_the_program::calls_of_the_program() noexcept : remembered_(remembers) { remembers = false; }
calls_of_the_program::~calls_of_the_program() { remembers = remembered_; }

}  // namespace ration::conformance
