// SPDX-License-Identifier: BSL-1.0
// Preloaded into a service: a disk that can be slow or fail, and that has only what was synchronised.
//
// RATION_DISK=FOLDER. While FOLDER/hold exists, fsync(2) and fdatasync(2) wait; with FOLDER/slow they take 0.2 s more,
// and with FOLDER/fail they return EIO. FOLDER/waits exists while a call waits. FOLDER/power_cut leads to copies of the
// files of the list as each was at its last synchronisation: what a loss of power would leave at least.
//
// Only the process that was started with these variables is watched: they are taken out of its environment.
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

class disk {
    pid_t const process_ = ::getpid();
    fs::path folder_;
    std::mutex guard_;

public:
    disk() {
        if (char const* const folder = std::getenv("RATION_DISK")) folder_ = folder;
        for (char const* const variable : {"RATION_DISK", "LD_PRELOAD"}) ::unsetenv(variable);
    }

    /// The outcome of a synchronisation.
    [[nodiscard]] int synchronise(int file, int (*real)(int)) {
        if (folder_.empty() || ::getpid() != process_) return real(file);
        std::scoped_lock const one(guard_);
        for (; fs::exists(folder_ / "hold"); ::usleep(1000)) std::ofstream(folder_ / "waits");
        fs::remove(folder_ / "waits");
        if (fs::exists(folder_ / "slow")) ::usleep(200'000);
        if (fs::exists(folder_ / "fail")) {
            errno = EIO;
            return -1;
        }
        int const status = real(file);
        if (status == 0) keep(fs::read_symlink("/proc/self/fd/" + std::to_string(file)));
        return status;
    }

private:
    /// Replaces all copies in one step. A synchronised folder loses the files that were removed.
    void keep(fs::path const& synchronised) {
        bool const is_file = synchronised.filename().string().starts_with("jobs.db");
        auto const folder = is_file ? synchronised.parent_path() : synchronised;
        if (!is_file && !fs::exists(folder / "jobs.db")) return;
        auto const now = folder_ / "power_cut", link = folder_ / "next";
        auto next = folder_ / "1";
        for (int number = 2; !fs::create_directory(next); ++number) next = folder_ / std::to_string(number);
        if (is_file) fs::copy_file(synchronised, next / synchronised.filename());
        if (fs::exists(now))
            for (auto const& one : fs::directory_iterator(now))
                if (auto const name = one.path().filename();
                    !fs::exists(next / name) && (is_file || fs::exists(folder / name)))
                    fs::create_hard_link(one.path(), next / name);
        fs::create_symlink(next, link);
        fs::rename(link, now);
    }
};

[[nodiscard]] int synchronise(char const* name, int file) {
    static disk only;
    return only.synchronise(file, reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, name)));
}

}  // namespace

extern "C" int fsync(int file) { return synchronise("fsync", file); }
extern "C" int fdatasync(int file) { return synchronise("fdatasync", file); }
