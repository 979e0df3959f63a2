// SPDX-License-Identifier: BSL-1.0
// Counts ticks like `counter`, and at one of them does what its config text names: "crash@3". Written against abi.h
// alone.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <ration/plugin/abi.h>

namespace {

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            0,
                            "org.example.mischief",
                            "mischief",
                            "1.0.0",
                            "",
                            "",
                            "",
                            "jobs/id u64\n",
                            "",
                            "",
                            "",
                            ""};

struct instance {
    ration_host const* host;
    std::string action;
    long at = -1, count = 0, saves = 0;
    bool is(char const* name) const { return count == at && action == name; }
};

void meddle(std::string_view how) {
    if (how == "signal") ::signal(SIGUSR2, SIG_IGN);
    if (how == "wander") static_cast<void>(::chdir("/"));
    if (how == "block") {
        sigset_t one{};
        ::sigaddset(&one, SIGUSR2);
        ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    }
    if (how == "stay here") {
        cpu_set_t here{};
        CPU_SET(::sched_getcpu(), &here);
        ::sched_setaffinity(0, sizeof here, &here);
    }
#if defined(__x86_64__)
    if (how == "flush to zero") _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

// Before any host can call it. A worker has no environment.
[[gnu::constructor]] void meddle_while_loading() {
    if (char const* const how = std::getenv("RATION_TEST_WHILE_LOADING")) meddle(how);
}

std::uintptr_t volatile nowhere = 64;  // not null, which UBSan would catch before the machine does

void report(instance const& self, std::uint32_t level, std::string_view text) {
    self.host->log(self.host->ctx, level, text.data(), text.size());
}

/// What it lists as changed is not so.
void lie(instance const& self) {
    auto const* const changed =
        static_cast<ration_changed_rows const*>(self.host->extension(self.host->ctx, RATION_EXT_CHANGED_ROWS));
    if (changed == nullptr) return;
    if (self.is("list too far")) {
        *changed->count = 1;
        changed->row[0] = 1;
    }  // of one row
    if (self.is("list nothing")) *changed->count = 0;
    if (self.is("list too many")) *changed->count = changed->capacity + 1;
}

/// Limits may be read, with null for a new one: a sandbox that looks at half of the pointer takes these places for
/// null.
bool limit_the_host() {
    void* place = MAP_FAILED;
    for (std::uintptr_t const at :
         {std::uintptr_t{1} << 32, std::uintptr_t{0x2000} << 32, std::uintptr_t{0x7e90} << 32})
        if (place == MAP_FAILED)
            place = ::mmap(reinterpret_cast<void*>(at), 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) return false;
    auto* const limit = static_cast<rlimit*>(place);
    if (::syscall(SYS_prlimit64, ::getppid(), RLIMIT_MSGQUEUE, nullptr, limit) != 0) return false;
    limit->rlim_cur /= 2;
    static_cast<void>(::syscall(SYS_prlimit64, ::getppid(), RLIMIT_MSGQUEUE, limit, nullptr));
    return true;
}

void before_the_answer(instance& self, ration_tick const& t) {
    if (self.is("say")) {
        report(self, RATION_LOG_INFO, "first\nsecond");
        report(self, 77, "of no level there is");
    }
    if (self.is("chatter"))
        for (int i = 0; i < 5000; ++i) report(self, RATION_LOG_DEBUG, "line " + std::to_string(i));
    if (self.is("crash")) report(self, RATION_LOG_ERROR, "I am falling");
    if (self.is("crash")) *reinterpret_cast<int volatile*>(nowhere) = 1;
    if (self.is("cut loose"))
        for (int file = 0; file < 100; ++file) ::close(file);
    if (self.is("hang") || self.is("cut loose"))
        for (long volatile turns = 0;;) turns = turns + 1;
    if (self.is("exit")) ::_exit(0);
    if (self.is("abort")) std::abort();
    if (self.is("throw")) throw std::runtime_error("mischief");
    if (self.is("scribble"))
        *const_cast<std::uint64_t*>(static_cast<std::uint64_t const*>(t.table[RATION_JOBS]->slot[0])) = 99;
    if (self.is("call home")) static_cast<void>(::socket(AF_INET, SOCK_STREAM, 0));
    if (self.is("kill the host")) ::kill(::getppid(), SIGTERM);
    if (self.is("flush to zero")) meddle(self.action);
}

int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
               uint64_t err_size) {
    std::string const text(config, length);
    if (text == "refuse") {
        std::strncpy(err, "it never wants to", err_size);
        return RATION_E_ARG;
    }
    if (text == "throw") throw std::runtime_error("mischief");
    if (text == "hang")
        for (long volatile turns = 0;;) turns = turns + 1;
    if (text == "crash") std::abort();
    meddle(text);
    auto* made = new instance{.host = host, .action = {}};
    if (auto const at = text.find('@'); at != text.npos) {
        made->action = text.substr(0, at);
        made->at = std::stol(text.substr(at + 1));
    }
    *self = made;
    return RATION_OK;
}
void destroy(void* self) { delete static_cast<instance*>(self); }
int32_t bind(void* me, ration_schema const*, uint64_t* scratch, char*, uint64_t) {
    auto& self = *static_cast<instance*>(me);
    if (self.is("signal")) meddle(self.action);
    *scratch = 0;
    return RATION_OK;
}

int32_t decide(void* me, ration_tick const* t, ration_out* out) {
    auto& self = *static_cast<instance*>(me);
    ++self.count;
    before_the_answer(self, *t);
    if (self.is("refuse")) return RATION_E_UNSUPPORTED;
    if (self.action == "refuse from" && self.count >= self.at) return RATION_E_UNSUPPORTED;
    if (self.is("limit the host") && !limit_the_host()) return RATION_E_UNSUPPORTED;
    if (self.is("odd code")) return 1234;
    out->grant[0] = {0, 0, RATION_CPU, 0, 0, self.count};
    if (self.action == "save slowly") out->grant[0].amount = self.saves;
    out->count = self.is("too many") ? out->capacity + 1 : 1;
    lie(self);
    if (self.is("move the space")) ++out->grant;
    if (self.is("widen the space")) out->capacity += 100;
    return RATION_OK;
}

void take_time() {
    auto const start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(5)) {
    }
}

int32_t save(void* me, void* buffer, uint64_t capacity, uint64_t* size) {
    auto& self = *static_cast<instance*>(me);
    *size = sizeof(long);
    if (capacity < sizeof(long)) return RATION_E_CAPACITY;
    ++self.saves;
    if (self.action == "save slowly") take_time();
    if (self.is("die in save")) {
        std::memset(buffer, 1, sizeof(long) / 2);
        std::abort();
    }
    std::memcpy(buffer, &static_cast<instance*>(me)->count, sizeof(long));
    return RATION_OK;
}
int32_t load(void* me, void const* buffer, uint64_t size) {
    if (size != sizeof(long)) return RATION_E_STATE;
    std::memcpy(&static_cast<instance*>(me)->count, buffer, sizeof(long));
    return RATION_OK;
}

}  // namespace

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {
    sizeof(ration_policy), 0, &manifest, &create, &destroy, &bind, nullptr, &decide, &save, &load, nullptr};
}
