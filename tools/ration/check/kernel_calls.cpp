// SPDX-License-Identifier: BSL-1.0
#include "kernel_calls.hpp"

#include <cerrno>
#include <csignal>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <utility>

#include <fmt/core.h>

#include <ration/plugin/host/sandbox.hpp>

namespace ration::conformance {
namespace {

/// Memory and the time; other threads of the plugin's own; the end of this one, or of a probe that crashes.
constexpr unsigned granted[] = {
    __NR_mmap,         __NR_munmap,       __NR_mremap,          __NR_mprotect,     __NR_madvise,     __NR_brk,         __NR_futex,
    __NR_sched_yield,  __NR_getpid,       __NR_gettid,          __NR_clock_gettime, __NR_clock_getres, __NR_gettimeofday, __NR_rt_sigaction,
    __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,   __NR_tgkill,       __NR_exit,        __NR_exit_group,  __NR_restart_syscall,
};

/// Those that a policy author will know by name. The others have their number.
constexpr std::pair<int, char const*> names[] = {
    {__NR_openat, "openat"},     {__NR_read, "read"},         {__NR_pread64, "pread"},     {__NR_readv, "readv"},           {__NR_write, "write"},
    {__NR_pwrite64, "pwrite"},   {__NR_writev, "writev"},     {__NR_close, "close"},       {__NR_lseek, "lseek"},           {__NR_newfstatat, "fstatat"},
    {__NR_fstat, "fstat"},       {__NR_statx, "statx"},       {__NR_fsync, "fsync"},       {__NR_ioctl, "ioctl"},           {__NR_fcntl, "fcntl"},
    {__NR_ppoll, "ppoll"},       {__NR_epoll_pwait, "epoll_pwait"}, {__NR_socket, "socket"}, {__NR_connect, "connect"},     {__NR_sendto, "sendto"},
    {__NR_recvfrom, "recvfrom"}, {__NR_sendmsg, "sendmsg"},   {__NR_recvmsg, "recvmsg"},   {__NR_nanosleep, "nanosleep"},   {__NR_clock_nanosleep, "clock_nanosleep"},
    {__NR_getrandom, "getrandom"}, {__NR_clone, "clone"},     {__NR_clone3, "clone3"},     {__NR_execve, "execve"},         {__NR_kill, "kill"},
#if defined(__x86_64__)
    {__NR_open, "open"},         {__NR_stat, "stat"},         {__NR_poll, "poll"},         {__NR_select, "select"},         {__NR_epoll_wait, "epoll_wait"},
#endif
};

constexpr int none = -1;
// A handler writes these, for the thread that it interrupts.
thread_local int volatile refused = none;
thread_local bool volatile remembers = true;

void fail(void* context) noexcept {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    machine.gregs[REG_RAX] = -EPERM;
#else
    machine.regs[0] = static_cast<unsigned long long>(-EPERM);
#endif
}

void on_refused(int, siginfo_t* info, void* context) {
    if (remembers && refused == none) refused = info->si_syscall;
    fail(context);
}

}  // namespace

bool refuse_kernel_calls() noexcept {
    struct sigaction action{};
    action.sa_sigaction = &on_refused;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSYS, &action, nullptr);
    plugin::detail::call_filter filter;
    for (unsigned const call : granted) filter.answer(call, SECCOMP_RET_ALLOW);
    filter.answer_the_rest(SECCOMP_RET_TRAP);
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter.install();
}

std::string take_refused_call() {
    int const call = refused;
    refused = none;
    if (call == none) return {};
    for (auto const& [number, name] : names)
        if (number == call) return name;
    return fmt::format("system call {}", call);
}

calls_of_the_program::calls_of_the_program() noexcept : remembered_(remembers) { remembers = false; }
calls_of_the_program::~calls_of_the_program() { remembers = remembered_; }

}  // namespace ration::conformance
