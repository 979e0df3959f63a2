// SPDX-License-Identifier: BSL-1.0
#include "containment.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ration/plugin/host/elf_file.hpp>
#include <ration/plugin/host/readable_files.hpp>
#include <ration/plugin/host/sandbox.hpp>

#include "kernel_calls.hpp"
#include "sandbox.hpp"

namespace ration::conformance {
namespace {

constexpr std::uint64_t memory_of_probes = std::uint64_t{1} << 30;

// None of these reaches beyond the process.
constexpr plugin::allowed_call further_calls[] = {
    // The output of a plugin, into the file that the supervisor shows.
    {__NR_write},
    {__NR_writev},
    {__NR_pwrite64},
    // Another filter, by which decide/io sees what decide does.
    {__NR_seccomp, 0, ~0U, SECCOMP_SET_MODE_FILTER},
    // Changes that a plugin makes to its process, so that life/process finds it.
    {__NR_chdir},
    {__NR_fchdir},
    {__NR_umask},
    {__NR_sched_setaffinity, 0, ~0U, 0},
    // By these its own threads wait for each other.
    {__NR_ppoll},
    {__NR_pselect6},
    {__NR_rt_sigsuspend},
    {__NR_rt_sigtimedwait},
    {__NR_eventfd2},
    {__NR_pipe2},
    {__NR_epoll_create1},
    {__NR_epoll_ctl},
    {__NR_epoll_pwait},
    {__NR_prctl, 0, ~0U, PR_SET_NAME},
#if defined(__x86_64__)
    {__NR_pause},
    {__NR_poll},
    {__NR_select},
    {__NR_epoll_wait},
#endif
};

/// Standard input, which is empty, output and error are all that is open.
void close_descriptors() {
    if (int const nothing = ::memfd_create("nothing", MFD_CLOEXEC); nothing > 0) ::dup2(nothing, STDIN_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

[[nodiscard]] std::string give_up_rights(subject const& s) {
    close_descriptors();
    remember_refused_calls();
    if (!plugin::enter_sandbox({.shared_bytes = memory_of_probes,
                                .file_bytes = most_output,
                                .threads = true,
                                .also = further_calls,
                                .refusal = SECCOMP_RET_TRAP,
                                .punishment = SECCOMP_RET_TRAP}))
        return "this kernel has no seccomp filters";
    plugin::readable_files files;
    files.add(s.path);
    auto const facts = plugin::inspect(s.file);
    if (!files.enforce_for(facts ? *facts : plugin::elf_facts{}, std::filesystem::path(s.path).parent_path().string()))
        return "this kernel has Landlock and refuses it";
    return {};
}

void run_and_watch(std::function<void()> const& body) {
    std::string also;
    try {
        body();
    } catch (broken_rule const& rule) {
        also = rule.sentence;
    }
    auto const call = take_refused_call();
    if (!call.empty())
        broken(fmt::format("it called {}, which the sandbox of a worker refuses{}{}", call, also.empty() ? "" : "; ",
                           also));
    if (!also.empty()) broken(also);
}

}  // namespace

std::string why_not_contained(subject const& s) {
    return run_isolated([] {}, {}, [&] { return give_up_rights(s); }).why;
}

finding run_contained(subject const& s, std::function<void()> const& body, deadline const& until) {
    return run_isolated([&] { run_and_watch(body); }, until, [&] { return give_up_rights(s); });
}

}  // namespace ration::conformance
