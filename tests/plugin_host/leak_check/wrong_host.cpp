// SPDX-License-Identifier: BSL-1.0
// A host that keeps the rules, written against abi.h alone, and with `--wrong NAME` breaks one of them: wrong_host
// PLUGIN RECORD [--wrong H5].
// `--wrong threads` breaks none of them in two threads.
// It prints the log of the leak check and, at the end, the sentences of its saved state.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ration/plugin/abi.h>

#include "observations.hpp"

namespace {

std::string_view fault;
[[nodiscard]] bool wrong(std::string_view name) { return fault == name; }

std::atomic<bool> lingers{false};
void log(void*, std::uint32_t level, char const* text, std::uint64_t length) {
    if (level == RATION_LOG_DEBUG) lingers = true;
    std::printf("log %.*s\n", static_cast<int>(length), text);
}
void const* no_extension(void*, char const*) { return nullptr; }

void expect(bool good, char const* what) {
    if (good) return;
    std::printf("the host cannot go on: %s\n", what);
    std::exit(1);
}

/// The value of struct_size.
template <class T>
[[nodiscard]] std::uint32_t size_of(std::string_view name, std::uint32_t when_wrong = 0) {
    return wrong(name) ? when_wrong : static_cast<std::uint32_t>(sizeof(T));
}

constexpr std::size_t room_for = 32, most_jobs = 8;
constexpr std::uint32_t job_slots = 4;

/// Columns of more rows than there ever are; what is behind the rows of a tick is zero.
struct columns {
    alignas(64) std::uint64_t id[room_for];
    alignas(64) std::uint32_t state[room_for];
    alignas(64) std::int64_t least[room_for], held[room_for], capacity[room_for];
};

/// What is in force, by the id of the job, which are 1, 2, ...
struct running_jobs {
    std::uint64_t count = 2;
    std::int64_t held[room_for] = {};
};

class guest {
    ration_policy const& policy_;
    ration_host host_{sizeof host_, RATION_ABI_MINOR, nullptr, &log, &no_extension};
    void* self_ = nullptr;
    columns shown_{};
    std::vector<std::byte> scratch_;
    ration_grant rows_[room_for] = {};

public:
    std::uint64_t number = 0;
    std::int64_t now = 1000;
    std::int32_t reply = RATION_OK;
    ration_out out{};

    guest(ration_policy const& policy, std::string const& config) : policy_(policy) {
        char err[256] = "";
        if (wrong("H1")) {
            static_cast<void>(policy_.save(&shown_, nullptr, 0, &number));
            number = 0;
        }
        host_.struct_size = size_of<ration_host>("H15-host");
        expect(policy_.create(&host_, config.data(), config.size(), &self_, err, sizeof err) == RATION_OK, err);
        if (!wrong("H2")) bind();
    }
    guest(guest const&) = delete;
    guest& operator=(guest const&) = delete;

    void bind() {
        ration_column const all[] = {
            {"jobs/id", RATION_JOBS, RATION_U64, 1, 0, 0, 0},
            {"jobs/state", RATION_JOBS, RATION_U32, 1, 1, 0, 0},
            {"jobs/min.cpu", RATION_JOBS, RATION_I64, 1, 2, 0, 0},
            {"jobs/held.cpu", RATION_JOBS, RATION_I64, 1, 3, 0, wrong("H15-reserved") ? 7u : 0u},
            {"nodes/capacity.cpu", RATION_NODES, RATION_I64, 1, 0, 0, 0}};
        ration_schema const schema{sizeof schema, std::size(all), sizeof all[0], 6, most_jobs, 1, room_for, all, 0,
                                   nullptr};
        std::uint64_t scratch = 0;
        char err[256] = "";
        expect(policy_.bind(self_, &schema, &scratch, err, sizeof err) == RATION_OK, err);
        scratch_.resize(scratch + 64);
    }

    /// One call of `decide` with space for `space` rows.
    void decide(running_jobs const& jobs, std::uint64_t space, ration_grant* into = nullptr) {
        show(jobs);
        void const* slots[] = {shown_.id, shown_.state, shown_.least, shown_.held, shown_.least};
        void const* node_slots[] = {shown_.capacity};
        if (wrong("H4")) slots[2] = shown_.least + 1;
        if (wrong("H7")) slots[1] = nullptr;
        bool const later = number > 3;
        std::uint64_t const rows = wrong("H6") && later ? most_jobs + 2 : jobs.count;
        ration_table const of_jobs{size_of<ration_table>("H15-table"), job_slots + (wrong("H13") && later ? 1 : 0),
                                   rows, slots};
        ration_table const of_nodes{sizeof of_nodes, 1, 1, node_slots}, nothing{sizeof nothing, 0, 0, nullptr};
        ration_table const* const tables[] = {&of_jobs, &of_nodes, &nothing, &nothing};
        std::uint32_t const cancel = 0;
        auto const place = (reinterpret_cast<std::uintptr_t>(scratch_.data()) + 63) / 64 * 64;
        ration_tick const tick{size_of<ration_tick>("H15-tick", 0x5A5A5A5A),
                               4,
                               number,
                               1,
                               wrong("H8") && later ? 7 : now,
                               1'000'000,
                               &cancel,
                               tables,
                               reinterpret_cast<void*>(place),
                               scratch_.size() - 64 - (wrong("H9") ? 500 : 0),
                               nullptr};
        out = {size_of<ration_out>("H15-out"), 0, space, 0, 0, into == nullptr ? rows_ : into};
        reply = policy_.decide(self_, &tick, &out);
    }

    void emit(std::vector<ration_event> const& events) {
        if (!events.empty())
            static_cast<void>(policy_.on_event(self_, events.data(), events.size(), sizeof(ration_event)));
    }

    [[nodiscard]] leak_check::observations saved() {
        leak_check::observations seen;
        std::uint64_t size = 0;
        std::byte state[sizeof seen];
        expect(policy_.save(self_, nullptr, 0, &size) == RATION_E_CAPACITY && size == sizeof state,
               "save says its size");
        expect(policy_.save(self_, state, size, &size) == RATION_OK && leak_check::read(state, size, seen), "save");
        return seen;
    }
    void load(leak_check::observations const& state) {
        expect(policy_.load(self_, &state, sizeof state) == RATION_OK, "load");
    }

    void destroy() { policy_.destroy(self_); }

private:
    void show(running_jobs const& jobs) {
        shown_ = {};
        for (std::size_t row = 0; row < jobs.count; ++row) {
            shown_.id[row] = row + 1;
            shown_.state[row] = RATION_RUNNING;
            shown_.held[row] = jobs.held[row + 1];
        }
        shown_.capacity[0] = 840;
        if (wrong("H5")) shown_.id[jobs.count] = 99;
    }
};

[[nodiscard]] ration_event of(std::uint32_t kind, std::uint64_t job, std::int64_t when, std::int64_t amount = 0) {
    return {kind, RATION_NO_SLOT, job, when, 0, amount};
}

/// Everything that was granted comes into force, but at every fifth tick the group of the first two is refused as a
/// whole.
[[nodiscard]] std::vector<ration_event> commit(guest& g, running_jobs& jobs) {
    std::vector<ration_event> events;
    for (std::uint64_t i = 0; i < g.out.count; ++i) {
        auto const& row = g.out.grant[i];
        bool const refused = g.number % 5 == 3 && row.group != 0;
        if (wrong("H11") && g.number == 2 && i == 1) continue;
        bool const half = wrong("H11-rejected") && g.number == 2 && i == 1;
        if (!refused && !half) jobs.held[row.job + 1] = row.amount;
        std::int64_t const amount = row.amount + (wrong("H10-applied") && g.number == 2 && i == 0 ? 1 : 0);
        events.push_back(
            of(refused || half ? RATION_EV_GRANT_REJECTED : RATION_EV_GRANT_APPLIED, row.job + 1, g.now, amount));
    }
    return events;
}

void live_through_a_tick(guest& g, running_jobs& jobs) {
    g.now += 1000;
    bool const few = g.number == 7;
    g.decide(jobs, few ? 1 : room_for);
    if (few && g.reply == RATION_E_CAPACITY) g.decide(jobs, wrong("H18") ? 1 : g.out.needed);
    if (g.reply == RATION_E_STATE && !wrong("H16")) g.emit({of(RATION_EV_STATE_LOST, 0, g.now)});
    if (g.number == 10 && wrong("H10-ended")) g.emit({of(RATION_EV_JOB_FAILED, 3, g.now)});
    if (g.reply == RATION_OK) g.emit(commit(g, jobs));
    if (g.number == 8) {
        ++jobs.count;
        g.emit({of(RATION_EV_JOB_ARRIVED, jobs.count, g.now)});
    }
    if (g.number == 10 && !wrong("H10-ended"))
        g.emit({of(RATION_EV_JOB_CHANGED, 3, g.now), of(RATION_EV_JOB_FINISHED, 3, g.now)});
    if (g.number == 10) --jobs.count;
    if (g.number == 11 && wrong("H10")) g.emit({of(RATION_EV_JOB_CHANGED, 3, g.now)});
    if (g.number == 11 && wrong("H10-time")) g.emit({of(RATION_EV_NODE_UP, 0, g.now - 5000)});
    if (g.number == 11 && wrong("H10-arrived"))
        g.emit({of(RATION_EV_JOB_ARRIVED, 4, g.now), of(RATION_EV_JOB_ARRIVED, 4, g.now)});
    ++g.number;
}

/// A call that lingers, and another one at once.
template <class Other>
void at_once(guest& first, running_jobs const& jobs, ration_grant* into, Other other) {
    std::thread lingering([&] { first.decide(jobs, room_for, into); });
    while (!lingers) std::this_thread::yield();
    other();
    lingering.join();
}

void print(leak_check::observations const& seen) {
    for (int number = 1; number <= leak_check::misbehaviours; ++number)
        if (seen.count[number] != 0) std::printf("state %s\n", seen.first[number]);
}

/// Two instances one after the other, of which the second takes over the state of the first.
void live(ration_policy const& policy, std::string const& record) {
    running_jobs jobs;
    guest first(policy, record + " lose@6"), second(policy, "");
    for (int tick = 0; tick < 14; ++tick) live_through_a_tick(first, jobs);
    auto const state = first.saved();
    second.load(state);
    second.number = first.number;
    second.now = first.now;
    for (int tick = 0; tick < 4; ++tick) live_through_a_tick(second, jobs);
    print(second.saved());
    first.destroy();
    if (wrong("H1-after")) first.decide(jobs, room_for);
    if (wrong("H14")) std::exit(0);
    if (!wrong("H17")) second.destroy();
}

/// Two instances in two threads, which is allowed.
void live_in_threads(ration_policy const& policy, std::string const& record) {
    running_jobs const jobs;
    guest first(policy, record + " linger@1"), second(policy, "");
    ration_grant rows[room_for];
    at_once(first, jobs, rows, [&] {
        if (wrong("H3")) first.emit({of(RATION_EV_NODE_UP, 0, first.now)});
        if (wrong("H14-thread")) first.destroy();
        second.decide(jobs, room_for, wrong("H12") ? rows : nullptr);
    });
    if (!wrong("H14-thread")) {
        print(first.saved());
        first.destroy();
    }
    print(second.saved());
    second.destroy();
}

}  // namespace

int main(int count, char** words) {
    expect(count == 3 || (count == 5 && std::string_view(words[3]) == "--wrong"),
           "wrong_host PLUGIN RECORD [--wrong NAME]");
    if (count == 5) fault = words[4];
    void* const code = ::dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    expect(code != nullptr, "dlopen");
    auto const* const policy = static_cast<ration_policy const*>(::dlsym(code, RATION_ABI_SYMBOL));
    std::string const record = std::string("record=") + words[2];
    if (wrong("threads") || wrong("H3") || wrong("H12") || wrong("H14-thread"))
        live_in_threads(*policy, record);
    else
        live(*policy, record);
    ::dlclose(code);
}
