// SPDX-License-Identifier: BSL-1.0
// Grants nothing and logs many messages. Its parameter names one more action: talker = { deed = "crash" }. Written
// against abi.h alone.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <ration/plugin/abi.h>

namespace {

#ifdef RATION_TALKER_APART
constexpr std::uint32_t flags = RATION_F_OWN_THREADS | RATION_F_OUT_OF_PROCESS_ONLY;
#else
constexpr std::uint32_t flags = RATION_F_OWN_THREADS;
#endif

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            flags,
                            "org.example.talker",
                            "talker",
                            "1.0.0",
                            "Example Inc.",
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
    int ticks = 0;
};

void report(ration_host const* host, std::uint32_t level, std::string_view text) {
    host->log(host->ctx, level, text.data(), text.size());
}

int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
               uint64_t err_size) {
    std::string const text(config, length);
    auto const wants = [&](char const* action) { return text.find('"' + std::string(action) + '"') != text.npos; };
    report(host, RATION_LOG_INFO, "created");
    if (wants("refuse")) {
        report(host, RATION_LOG_WARNING, "it will not \x1b[2Jdo");
        err[std::string_view("never\x1b[2J").copy(err, err_size - 1)] = '\0';
        return RATION_E_ARG;
    }
    auto* const made = new instance{.host = host, .action = {}};
    for (char const* const action : {"crash", "storm", "thread"})
        if (wants(action)) made->action = action;
    *self = made;
    return RATION_OK;
}

void destroy(void* self) {
    auto* const mine = static_cast<instance*>(self);
    report(mine->host, RATION_LOG_INFO, "destroyed");
    delete mine;
}

int32_t bind(void* self, ration_schema const*, uint64_t* scratch, char*, uint64_t) {
    report(static_cast<instance*>(self)->host, RATION_LOG_INFO, "bound");
    *scratch = 0;
    return RATION_OK;
}

int32_t decide(void* self, ration_tick const*, ration_out* out) {
    auto& mine = *static_cast<instance*>(self);
    out->count = 0;
    report(mine.host, RATION_LOG_DEBUG, "tick " + std::to_string(++mine.ticks));
    if (mine.ticks == 1) report(mine.host, RATION_LOG_ERROR, "one\ntwo");
    report(mine.host, RATION_LOG_WARNING, "\x1b[2Jrunning hot\xff");
    if (mine.ticks != 2) return RATION_OK;
    if (mine.action == "storm")
        for (int i = 0; i < 900; ++i) report(mine.host, RATION_LOG_WARNING, "drop " + std::to_string(i));
    if (mine.action == "thread") std::thread([&] { report(mine.host, RATION_LOG_INFO, "from another thread"); }).join();
    if (mine.action == "crash") {
        report(mine.host, RATION_LOG_ERROR, "these are my last words");
        std::abort();
    }
    return RATION_OK;
}

}  // namespace

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {
    sizeof(ration_policy), flags, &manifest, &create, &destroy, &bind, nullptr, &decide, nullptr, nullptr, nullptr};
}
