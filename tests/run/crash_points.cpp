// SPDX-License-Identifier: BSL-1.0
// Preloaded into ration: names each call that changes something on disk, in the kernel or in a job, and kills the
// process before one of them.
//   RATION_CRASH_AT="rename run.json#2"   dies (SIGKILL) instead of the second call of that name; "any#7" instead of
//   the seventh call RATION_CRASH_TRACE=FILE               appends the name of each call
// Only the process that was started with these variables is watched: they are taken out of its environment, and its
// children are left alone.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

/// The function of this name that would be called without this library.
template <class Function>
[[nodiscard]] Function* real(char const* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// syscall(2) of the C library: the one below is watched.
template <class... Words>
[[nodiscard]] long plain_call(long number, Words... words) {
    return real<long(long, ...)>("syscall")(number, words...);
}

class watch {
    pid_t const process_ = ::getpid();
    std::string name_;
    int count_ = 0, all_ = 0, trace_ = -1;
    std::map<std::string, int, std::less<>> calls_;
    std::mutex guard_;

public:
    watch() {
        if (char const* const at = std::getenv("RATION_CRASH_AT")) {
            name_ = at;
            auto const mark = name_.rfind('#');
            count_ = std::atoi(name_.c_str() + mark + 1);
            name_.resize(mark);
        }
        if (char const* const file = std::getenv("RATION_CRASH_TRACE"))
            trace_ = static_cast<int>(
                plain_call(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
        for (char const* const variable : {"RATION_CRASH_AT", "RATION_CRASH_TRACE", "LD_PRELOAD"}) ::unsetenv(variable);
    }

    void reach(std::string const& name) {
        if (::getpid() != process_ || (count_ == 0 && trace_ < 0)) return;
        std::scoped_lock const alone(guard_);
        int const number = ++calls_[name];
        if (trace_ >= 0) {
            auto const line = name + '\n';
            static_cast<void>(plain_call(SYS_write, trace_, line.data(), line.size()));
        }
        if ((name == name_ && number == count_) || (name_ == "any" && ++all_ == count_))
            static_cast<void>(plain_call(SYS_kill, process_, SIGKILL));
    }
};

[[nodiscard]] watch& here() {
    static watch only;
    return only;
}

[[gnu::constructor]] void begin() { static_cast<void>(here()); }

[[nodiscard]] bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == text.npos; }

/// The last part of a path; names that differ from run to run become a word for what they are.
[[nodiscard]] std::string last_part(std::string_view path) {
    auto const name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("ration-run.")) return "GROUP";
    if (name.starts_with("ration-probe.")) return "PROBE";
    // ration-UID
    if (name.starts_with("ration-") && name.find_first_not_of("0123456789", 7) == name.npos) return "ration";
    if (name.starts_with("rx.")) return "SOCKET";
    if (name.ends_with(".new") && last_part(name.substr(0, name.size() - 4)) == "RUN") return "RUN.new";
    if (auto const dash = name.find('-');
        dash != name.npos && name.size() - dash == 17 && is_hex(name.substr(dash + 1)))
        return "RUN";
    // 20261124-124813-POLICY
    if (name.size() > 16 && name[8] == '-' && name[15] == '-' &&
        name.substr(0, 15).find_first_not_of("0123456789-") == name.npos)
        return "OUTPUT";
    if (name.size() == 1) return "JOB";
    if (name.size() > 4 && name.substr(1) == ".log") return "JOB.log";
    return std::string(name);
}

[[nodiscard]] std::string path_of(int descriptor) {
    std::array<char, 4096> target{};
    auto const length =
        ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), target.data(), target.size());
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

/// Below the folder of all runs, or a control group.
[[nodiscard]] bool is_state(std::string_view path) {
    return path.starts_with("/sys/fs/cgroup/") || path.find("/ration/") != path.npos ||
           path.find("/.ration/") != path.npos || path.find("/ration-") != path.npos;
}

void reach_path(char const* call, char const* path) { here().reach(std::string(call) + ' ' + last_part(path)); }

}  // namespace

// The names and signatures are those of the C library.
extern "C" {

int mkdir(char const* path, mode_t mode) {
    reach_path("mkdir", path);
    return real<int(char const*, mode_t)>("mkdir")(path, mode);
}

int mkdirat(int folder, char const* path, mode_t mode) noexcept {
    reach_path("mkdir", path);
    return real<int(int, char const*, mode_t)>("mkdirat")(folder, path, mode);
}

int unlink(char const* path) noexcept {
    reach_path("unlink", path);
    return real<int(char const*)>("unlink")(path);
}

int unlinkat(int folder, char const* path, int flags) noexcept {
    reach_path((flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", path);
    return real<int(int, char const*, int)>("unlinkat")(folder, path, flags);
}

int rename(char const* from, char const* to) noexcept {
    reach_path("rename", to);
    return real<int(char const*, char const*)>("rename")(from, to);
}

int renameat(int from_folder, char const* from, int to_folder, char const* to) noexcept {
    reach_path("rename", to);
    return real<int(int, char const*, int, char const*)>("renameat")(from_folder, from, to_folder, to);
}

int symlink(char const* to, char const* path) noexcept {
    reach_path("symlink", path);
    return real<int(char const*, char const*)>("symlink")(to, path);
}

int openat(int folder, char const* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    auto const mode = va_arg(more, mode_t);
    va_end(more);
    if ((flags & O_CREAT) != 0) reach_path("create", path);
    return real<int(int, char const*, int, mode_t)>("openat")(folder, path, flags, mode);
}

ssize_t write(int descriptor, void const* data, size_t size) {
    if (auto const path = path_of(descriptor); is_state(path)) reach_path("write", path.c_str());
    return real<ssize_t(int, void const*, size_t)>("write")(descriptor, data, size);
}

int fsync(int descriptor) {
    reach_path("fsync", path_of(descriptor).c_str());
    return real<int(int)>("fsync")(descriptor);
}

int bind(int socket, sockaddr const* address, socklen_t size) noexcept {
    here().reach("bind socket");
    return real<int(int, sockaddr const*, socklen_t)>("bind")(socket, address, size);
}

int flock(int descriptor, int operation) noexcept {
    reach_path("flock", path_of(descriptor).c_str());
    return real<int(int, int)>("flock")(descriptor, operation);
}

pid_t fork() noexcept {
    here().reach("fork");
    return real<pid_t()>("fork")();
}

int kill(pid_t process, int number) noexcept {
    if (number != 0) here().reach("kill " + std::to_string(number));
    return real<int(pid_t, int)>("kill")(process, number);
}

int sched_setaffinity(pid_t thread, size_t size, cpu_set_t const* cpus) noexcept {
    here().reach("sched_setaffinity");
    return real<int(pid_t, size_t, cpu_set_t const*)>("sched_setaffinity")(thread, size, cpus);
}

ssize_t send(int socket, void const* data, size_t size, int flags) {
    here().reach(size == 1 ? "send gate" : "send guard");
    return real<ssize_t(int, void const*, size_t, int)>("send")(socket, data, size, flags);
}

ssize_t sendto(int socket, void const* data, size_t size, int flags, sockaddr const* to, socklen_t length) {
    here().reach("sendto command");
    return real<ssize_t(int, void const*, size_t, int, sockaddr const*, socklen_t)>("sendto")(socket, data, size, flags,
                                                                                              to, length);
}

long syscall(long number, ...) noexcept {
    std::array<long, 6> words{};
    va_list more;
    va_start(more, number);
    for (auto& word : words) word = va_arg(more, long);
    va_end(more);
    if (number == SYS_clone3) here().reach("clone");
    if (number == SYS_pidfd_send_signal && words[1] != 0) here().reach("signal " + std::to_string(words[1]));
    return real<long(long, ...)>("syscall")(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
