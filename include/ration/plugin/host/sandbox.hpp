// SPDX-License-Identifier: BSL-1.0
/// The system calls of a worker process: memory, time, reading libraries (readable_files.hpp lists
/// them), sleeping. It cannot start programs or threads, use a network, write files or affect other
/// processes. Source: seccomp(2), prctl(2).
///
/// Also used by `ration check`, with other rules.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <span>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/host/sanitizer.hpp>

namespace ration::plugin {

/// Bytes of address space besides the shared memory. Not limited under a sanitizer, which reserves
/// terabytes.
inline constexpr std::uint64_t worker_memory = std::uint64_t{4} << 30;

/// A system call that is allowed if `argument & mask == value` for a 32-bit argument; without a
/// mask always.
struct allowed_call {
    /// The number of the call.
    unsigned number;
    /// The index of the argument.
    int argument = 0;
    /// The bits that are compared, and their value.
    std::uint32_t mask = 0, value = 0;
};

/// The rules of one sandbox. The defaults are those of a worker.
struct sandbox_rules {
    std::uint64_t shared_bytes = 0;  ///< address space besides `worker_memory`
    std::uint64_t file_bytes = 0;    ///< largest size of an open file
    /// Threads are allowed, in any number; no limit applies to a single process and to root as well
    bool threads = false;
    int kept_open = -1;                                   ///< a descriptor that cannot be closed
    std::span<allowed_call const> also{};                 ///< further system calls
    std::uint32_t refusal = SECCOMP_RET_ERRNO | EPERM;    ///< the filter's answer to all other calls
    std::uint32_t punishment = SECCOMP_RET_KILL_PROCESS;  ///< the answer to calls that only an attack makes
};

namespace detail {

/// Calls that are allowed with any arguments.
inline constexpr unsigned harmless_calls[] = {
    __NR_read,
    __NR_pread64,
    __NR_readv,
    __NR_close,
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_lseek,
    __NR_mmap,
    __NR_munmap,
    __NR_mprotect,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_futex,
    __NR_exit,
    __NR_exit_group,
    __NR_getpid,
    __NR_gettid,
    __NR_getppid,
    __NR_getuid,
    __NR_geteuid,
    __NR_getgid,
    __NR_getegid,
    __NR_clock_gettime,
    __NR_clock_getres,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_gettimeofday,
    __NR_sched_yield,
    __NR_getrandom,
    __NR_sysinfo,
    __NR_uname,
    __NR_readlinkat,
    __NR_getcwd,
    __NR_faccessat,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_sigaltstack,
    __NR_set_robust_list,
    __NR_rseq,
    __NR_sched_getaffinity,
    __NR_getcpu,
    __NR_getrusage,
    __NR_restart_syscall,
    __NR_getdents64,
    __NR_rt_sigaction,
    // With these a process can only lose rights
    __NR_landlock_create_ruleset,
    __NR_landlock_add_rule,
    __NR_landlock_restrict_self,
#if defined(__x86_64__)
    __NR_arch_prctl,
    __NR_access,
    __NR_readlink,
    __NR_stat,
    __NR_time,
#endif
};

/// Calls that only an attack makes: the worker ends at once, and the report names the sandbox.
inline constexpr unsigned deadly_calls[] = {
    __NR_execve,           __NR_execveat,          __NR_ptrace, __NR_socket, __NR_kill,
    __NR_process_vm_readv, __NR_process_vm_writev, __NR_mount,  __NR_bpf,    __NR_init_module};

/// Builds a seccomp filter in place. Each rule loads the number of the call again, so the order of
/// the rules does not matter.
class call_filter {
    static constexpr std::size_t most = 512;
    sock_filter code_[most];
    unsigned short size_ = 0;
    std::uint32_t refusal_;

    /// Appends an instruction.
    void add(std::uint16_t what, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) noexcept {
        code_[size_++] = sock_filter{what, if_true, if_false, value};
    }
    /// Loads a word of `seccomp_data`.
    void load(std::size_t offset) noexcept { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }

    /// The offset of an argument; its lower half on little-endian machines.
    static constexpr std::size_t argument(int n) noexcept {
        return offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(n);
    }

public:
    /// `refusal` is the answer to calls without a rule.
    explicit call_filter(std::uint32_t refusal) noexcept : refusal_(refusal) {
        // A 32-bit call has other numbers, so another architecture ends the process.
        load(offsetof(seccomp_data, arch));
#if defined(__x86_64__)
        add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
#else
        add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 1, 0);
#endif
        add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
    }

    /// Answers a call, whatever its arguments.
    void answer(unsigned call, std::uint32_t with) noexcept {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        add(BPF_RET | BPF_K, with);
    }
    /// Allows a call if `argument & mask == value` for a 32-bit argument; otherwise refuses it.
    void allow_if(unsigned call, int which, std::uint32_t mask, std::uint32_t value) noexcept {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5);
        load(argument(which));
        add(BPF_ALU | BPF_AND | BPF_K, mask);
        add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        add(BPF_RET | BPF_K, refusal_);
    }
    /// Refuses a call with this argument.
    void refuse_if(unsigned call, int which, std::uint32_t value) noexcept {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
        load(argument(which));
        add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
        add(BPF_RET | BPF_K, refusal_);
        load(offsetof(seccomp_data, nr));
    }
    /// Allows a call if this pointer is null in both halves; otherwise refuses it.
    void allow_if_null(unsigned call, int which) noexcept {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 6);
        load(argument(which));
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
        load(argument(which) + 4);
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        add(BPF_RET | BPF_K, refusal_);
    }

    /// Installs the filter, which cannot be undone. Returns false if the kernel has no filters.
    [[nodiscard]] bool install() noexcept {
        add(BPF_RET | BPF_K, refusal_);
        sock_fprog const program{size_, code_};
        return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
    }
};

/// Builds and installs the filter for these rules.
[[nodiscard]] inline bool limit_calls(sandbox_rules const& rules) noexcept {
    call_filter filter(rules.refusal);
    if (rules.kept_open >= 0) filter.refuse_if(__NR_close, 0, static_cast<std::uint32_t>(rules.kept_open));
    for (unsigned const call : harmless_calls) filter.answer(call, SECCOMP_RET_ALLOW);
    for (auto const& call : rules.also) filter.allow_if(call.number, call.argument, call.mask, call.value);
    for (unsigned const call : deadly_calls) filter.answer(call, rules.punishment);
    if (rules.threads) {
        // Its flags are in memory, where a filter cannot read them: the C library falls back to
        // clone
        filter.answer(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
        filter.allow_if(__NR_clone, 0, CLONE_THREAD, CLONE_THREAD);
    }
    // For reading; Landlock decides which files. The allocator of Python 3.13 calls open while it
    // is loaded.
    constexpr std::uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
    filter.allow_if(__NR_openat, 2, writing, O_RDONLY);
#if defined(__x86_64__)
    filter.allow_if(__NR_open, 1, writing, O_RDONLY);
#endif
    filter.allow_if(__NR_tgkill, 0, ~0U, static_cast<std::uint32_t>(::getpid()));  // abort()
    filter.allow_if_null(__NR_prlimit64, 2);                                       // reading limits
    static_assert((F_GETFD | 2) == F_GETFL);
    // Reading flags of open files: CPython does so before it trusts O_CLOEXEC, and the C library
    // does in fdopen.
    filter.allow_if(__NR_fcntl, 1, ~2U, F_GETFD);
    return filter.install();
}

/// Sets a limit of the process.
inline void limit_resource(__rlimit_resource what, rlim_t most) noexcept {
    rlimit const limit{most, most};
    static_cast<void>(::setrlimit(what, &limit));  // fails if the limit is lower already, which is fine
}

/// Restores the default action of crash signals. A sanitizer would report a crash, for which it
/// starts a program, and exit with a code; the host of a worker has to see the signal.
inline void let_crashes_be_crashes() noexcept {
    for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(signal, SIG_DFL);
}

}  // namespace detail

/// Enters the sandbox, which cannot be undone. Returns false if the kernel has no seccomp filters.
[[nodiscard]] inline bool enter_sandbox(sandbox_rules const& rules) noexcept {
    detail::limit_resource(RLIMIT_CORE, 0);
    detail::limit_resource(RLIMIT_FSIZE, rules.file_bytes);
    detail::limit_resource(RLIMIT_NOFILE, 64);
    if (RATION_SANITIZED)
        detail::let_crashes_be_crashes();
    else
        detail::limit_resource(RLIMIT_AS, worker_memory + rules.shared_bytes);
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && detail::limit_calls(rules);
}

}  // namespace ration::plugin
