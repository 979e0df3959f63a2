// SPDX-License-Identifier: BSL-1.0
/// Processes and files of another user, for a controller that runs as root. Sources: credentials(7),
/// setfsuid(2), nptl(7).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace ration::process {

/// A user with all groups.
struct account {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups = {};  ///< supplementary ones

    /// Compares all members.
    friend bool operator==(account const&, account const&) = default;
};

/// While it lives, this thread opens, lists and changes files with the rights of an account alone, so
/// that a path which its user has chosen leads to nothing that is closed to that user. Processes,
/// cgroups and sockets of the thread are still those of root.
///
/// It ends the process if the kernel refuses: the next call would use the rights of root. For an
/// account of another user the effective user has to be root, outside of user namespaces that forbid
/// setgroups(2).
class file_rights {
    std::vector<gid_t> groups_;
    gid_t gid_ = 0;
    uid_t uid_ = 0;
    bool changed_ = false;

public:
    /// `of` null: the rights stay as they are.
    explicit file_rights(account const* of) noexcept {
        if (of == nullptr) return;
        changed_ = true;
        int const count = ::getgroups(0, nullptr);
        groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        if (!groups_.empty() && ::getgroups(count, groups_.data()) != count) give_up();
        gid_ = static_cast<gid_t>(::setfsgid(keep));
        uid_ = static_cast<uid_t>(::setfsuid(keep));
        change(of->groups, of->gid, of->uid);
    }
    file_rights(file_rights const&) = delete;
    file_rights& operator=(file_rights const&) = delete;
    ~file_rights() {
        if (changed_) change(groups_, gid_, uid_);
    }

private:
    static constexpr uid_t keep = static_cast<uid_t>(-1);  // invalid, so that a call only returns the present one

    /// The system call, since the function of the C library changes all threads.
    static void change(std::vector<gid_t> const& groups, gid_t gid, uid_t uid) noexcept {
        if (::syscall(SYS_setgroups, groups.size(), groups.data()) != 0) give_up();
        ::setfsgid(gid);
        ::setfsuid(uid);
        if (static_cast<gid_t>(::setfsgid(keep)) != gid || static_cast<uid_t>(::setfsuid(keep)) != uid) give_up();
    }

    [[noreturn]] static void give_up() noexcept {
        std::perror("ration: the kernel refuses the rights of another user; start ration as root of the machine");
        std::abort();
    }
};

/// Makes the process one of the account, without a way back and without the session keyring of its caller.
/// Async-signal-safe. Returns 0 or an errno.
[[nodiscard]] inline int become_user(account const& who) noexcept {
    constexpr int join_new_keyring = 1;  // KEYCTL_JOIN_SESSION_KEYRING
    bool const done = ::syscall(SYS_setgroups, who.groups.size(), who.groups.data()) == 0 &&
                      ::syscall(SYS_setresgid, who.gid, who.gid, who.gid) == 0 &&
                      ::syscall(SYS_setresuid, who.uid, who.uid, who.uid) == 0;
    if (!done) return errno;
    ::syscall(SYS_keyctl, join_new_keyring, nullptr);  // where it is refused, the job cannot use keyrings either
    return 0;
}

}  // namespace ration::process
