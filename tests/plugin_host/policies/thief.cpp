// SPDX-License-Identifier: BSL-1.0
// Tries what a policy has no use for, and grants how far it came: to each job one row whose amount is an errno, or 0
// for success, or a count. Its parameters are the path of a file that is none of its business, or "thread": then it
// wants one to begin with. Written against abi.h alone.
#include <cerrno>
#include <cstdint>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <ration/plugin/abi.h>

namespace {

#ifdef RATION_THIEF_THREADS
constexpr std::uint32_t flags = RATION_F_OWN_THREADS;
#else
constexpr std::uint32_t flags = 0;
#endif
constexpr std::size_t bomb = 200;

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            flags,
                            "org.example.thief",
                            "thief",
                            "1.0.0",
                            "",
                            "",
                            "",
                            "jobs/id u64\n",
                            "",
                            "",
                            "",
                            ""};

int error_of(bool good) { return good ? 0 : errno; }

int opens(std::string const& path) {
    int const fd = ::open(path.c_str(), O_RDONLY);
    int const reply = error_of(fd >= 0);
    if (fd >= 0) ::close(fd);
    return reply;
}

int lists(std::string const& folder) {
    auto* const open = ::opendir(folder.c_str());
    int const reply = error_of(open != nullptr);
    if (open != nullptr) ::closedir(open);
    return reply;
}

int const opened_while_loading = opens("/etc/passwd");

std::int64_t threads_started() {
    std::vector<pthread_t> started;
    pthread_t thread;
    while (started.size() < bomb && ::pthread_create(
                                        &thread, nullptr,
                                        [](void*) -> void* {
                                            ::usleep(1000);
                                            return nullptr;
                                        },
                                        nullptr) == 0)
        started.push_back(thread);
    for (auto const one : started) ::pthread_join(one, nullptr);
    return static_cast<std::int64_t>(started.size());
}

/// Of the host's, beyond those that a worker is given.
std::int64_t files_inherited() {
    std::int64_t found = 0;
    struct stat about{};
    for (int fd = 8; fd < 256; ++fd) found += ::fstat(fd, &about) == 0;
    return found;
}

int32_t create(ration_host const*, char const* config, uint64_t length, void** self, char*, uint64_t) {
    auto* const path = new std::string(config, length);
    if (*path == "thread") std::thread([] {}).join();
    *self = path;
    return RATION_OK;
}
void destroy(void* self) { delete static_cast<std::string*>(self); }
int32_t bind(void*, ration_schema const*, uint64_t* scratch, char*, uint64_t) {
    *scratch = 0;
    return RATION_OK;
}

int32_t decide(void* self, ration_tick const*, ration_out* out) {
    auto const& path = *static_cast<std::string*>(self);
    std::int64_t const came[] = {opened_while_loading,
                                 opens(path),
                                 lists(path.substr(0, path.rfind('/'))),
                                 opens("/proc/" + std::to_string(::getppid()) + "/environ"),
                                 threads_started(),
                                 files_inherited()};
    out->count = 0;
    for (std::int64_t const amount : came) {
        auto const row = static_cast<std::uint16_t>(out->count);
        out->grant[out->count++] = {row % 3U, 0, static_cast<std::uint16_t>(row / 3), 0, 0, amount};
    }
    return RATION_OK;
}

}  // namespace

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {
    sizeof(ration_policy), flags, &manifest, &create, &destroy, &bind, nullptr, &decide, nullptr, nullptr, nullptr};
}
