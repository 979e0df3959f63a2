// SPDX-License-Identifier: BSL-1.0
#include "run/core_claims.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ration::program {
namespace {

/// So that two runs that start at once do not both find a CPU free. Gives up after a second: the holder may be stopped.
class choosing_lock {
    int file_;

public:
    explicit choosing_lock(int file) : file_(file) {
        for (int turn = 0; turn < 100 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++turn)
            ::usleep(10'000);
    }
    choosing_lock(choosing_lock const&) = delete;
    choosing_lock& operator=(choosing_lock const&) = delete;
    ~choosing_lock() { ::flock(file_, LOCK_UN); }
};

[[nodiscard]] struct flock lock_of(unsigned cpu, short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(cpu);
    lock.l_len = 1;
    return lock;
}

}  // namespace

core_claims core_claims::open(std::string const& path) {
    core_claims out;
    if (path.empty()) return out;
    process::descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat about{};
    if (file && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid())
        out.file_ = std::move(file);
    return out;
}

/// Of another process; 0: the CPU is free. A holder that this PID namespace does not show counts as -1.
pid_t core_claims::holder_of(unsigned cpu) const {
    auto lock = lock_of(cpu, F_WRLCK);
    if (!file_ || ::fcntl(file_.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
    return lock.l_pid > 0 ? lock.l_pid : -1;
}

core_choice core_claims::take(process::cpu_set const& usable, std::optional<std::uint32_t> count) {
    std::optional<choosing_lock> alone;
    if (file_) alone.emplace(file_.get());
    process::cpu_set free, taken;
    usable.for_each([&](unsigned cpu) { (holder_of(cpu) == 0 ? free : taken).insert(cpu); });
    unsigned const wanted = std::min(count.value_or(usable.size()), usable.size());
    core_choice out{.cpus = free.lowest(wanted), .shared = {}, .others = {}};
    if (out.cpus.size() < wanted) out.shared = taken.lowest(wanted - out.cpus.size());
    out.shared.for_each([&](unsigned cpu) {
        out.cpus.insert(cpu);
        out.others.push_back(holder_of(cpu));
    });
    std::ranges::sort(out.others);
    out.others.erase(std::unique(out.others.begin(), out.others.end()), out.others.end());
    out.cpus.for_each([&](unsigned cpu) {
        auto lock = lock_of(cpu, F_RDLCK);
        if (file_) ::fcntl(file_.get(), F_SETLK, &lock);
    });
    return out;
}

}  // namespace ration::program
