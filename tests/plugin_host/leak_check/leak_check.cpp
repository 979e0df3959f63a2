// SPDX-License-Identifier: BSL-1.0
// The calls of a host, in the order in which the ABI lists them.
#include "leak_check.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

namespace leak_check {
namespace {

/// One call on an instance, while it runs. Of two at once the second is refused, so that what follows needs no locks.
class turn {
    instance& self_;
    bool alone_;

public:
    turn(instance& self, char const* call, int number = 3) noexcept
        : self_(self), alone_(self.inside.fetch_add(1) == 0) {
        if (!alone_) see(self, number, "%s while another call on this instance runs", call);
    }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() { self_.inside.fetch_sub(1); }
    explicit operator bool() const noexcept { return alone_; }
};

/// H15: this leak check supports the first minor version only, so no host has less; 64 KiB is more than any will have.
[[nodiscard]] bool has_size(instance& self, char const* what, std::uint32_t size, std::size_t least) noexcept {
    if (size >= least && size <= 65536) return true;
    see(self, 15, "%s has struct_size %u, and the first version had %zu", what, size, least);
    return false;
}

[[nodiscard]] std::int32_t refuse(char* err, std::uint64_t size, char const* sentence, std::int32_t code) noexcept {
    if (size != 0) std::snprintf(err, size, "%s", sentence);
    return code;
}

[[nodiscard]] bool plan_action(instance& self, std::string_view word) noexcept {
    constexpr std::string_view names[] = {"", "refuse", "lose", "abort", "linger"};
    auto const at = word.find('@');
    if (at == word.npos || self.action_count == most_actions) return false;
    for (std::uint32_t i = 1; i < std::size(names); ++i)
        if (word.substr(0, at) == names[i]) {
            self.faults[self.action_count++] = {static_cast<fault>(i),
                                                std::strtoull(word.data() + at + 1, nullptr, 10)};
            return true;
        }
    return false;
}

[[nodiscard]] bool configure(instance& self, std::string_view text) noexcept {
    constexpr std::string_view record = "record=";
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
        if (word.starts_with(record))
            record_to(word.data() + record.size(), word.size() - record.size());
        else if (word == "strict")
            abort_at_a_sighting();
        else if (!word.empty() && !plan_action(self, word))
            return false;
    }
    return true;
}

std::int32_t create(ration_host const* host, char const* config, std::uint64_t length, void** self, char* err,
                    std::uint64_t err_size) {
    auto* const made = new_instance();
    if (made == nullptr) return refuse(err, err_size, "there are 32 of it already", RATION_E_NOMEM);
    char words[512] = "";  // ends in a zero, for strtoull
    if (length < sizeof words && length != 0) std::memcpy(words, config, length);
    if (length >= sizeof words || !configure(*made, words)) {
        made->alive = false;
        return refuse(err, err_size, "the words are record=FILE, strict, refuse@N, lose@N, abort@N, linger@N",
                      RATION_E_ARG);
    }
    if (has_size(*made, "ration_host", host->struct_size, sizeof *host)) made->host = *host;
    made->last_now = made->last_event = INT64_MIN;
    emit_earlier_state(*made);
    *self = made;
    return RATION_OK;
}

void destroy(void* place) {
    auto* const self = known(place, "destroy");
    if (self == nullptr) return;
    turn const alone(*self, "destroy", 14);
    self->alive = false;
}

std::int32_t bind(void* place, ration_schema const* schema, std::uint64_t* scratch, char* err, std::uint64_t err_size) {
    auto* const self = known(place, "bind");
    if (self == nullptr) return RATION_E_INTERNAL;
    turn const alone(*self, "bind");
    if (!alone || !has_size(*self, "ration_schema", schema->struct_size, sizeof *schema)) return RATION_E_INTERNAL;
    *scratch = scratch_asked;
    self->bound = bind_columns(*self, *schema);
    if (self->bound) return RATION_OK;
    return refuse(err, err_size, "it needs jobs/id, jobs/state, jobs/min.cpu, jobs/held.cpu and nodes/capacity.cpu",
                  RATION_E_UNSUPPORTED);
}

/// H16: what may follow an answer of RATION_E_STATE is `load`, RATION_EV_STATE_LOST, or the end.
void expect_a_state(instance& self, char const* call) noexcept {
    if (self.lost) see(self, 16, "%s after RATION_E_STATE, without load or RATION_EV_STATE_LOST", call);
}

std::int32_t on_event(void* place, ration_event const* events, std::uint64_t count, std::uint32_t stride) {
    auto* const self = known(place, "on_event");
    if (self == nullptr) return RATION_E_INTERNAL;
    turn const alone(*self, "on_event");
    if (!alone) return RATION_E_INTERNAL;
    ration_event event{};
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(&event, reinterpret_cast<char const*>(events) + i * stride, sizeof event);
        if (event.kind != RATION_EV_STATE_LOST) expect_a_state(*self, "on_event");
        inspect_event(*self, event);
    }
    return RATION_OK;
}

/// H8, H9, H16, H18: the tick itself.
void inspect_tick(instance& self, ration_tick const& t, ration_out const& out) noexcept {
    expect_a_state(self, "decide");
    if (t.now_ns < self.last_now)
        see(self, 8, "the clock says %lld after %lld", static_cast<long long>(t.now_ns),
            static_cast<long long>(self.last_now));
    self.last_now = t.now_ns;
    if (t.scratch == nullptr || t.scratch_size < scratch_asked || reinterpret_cast<std::uintptr_t>(t.scratch) % 64 != 0)
        see(self, 9, "scratch of %llu bytes at %p, and bind asked for %llu",
            static_cast<unsigned long long>(t.scratch_size), t.scratch, static_cast<unsigned long long>(scratch_asked));
    else
        // A size that is not true ends in a crash, or in front of a sanitizer
        std::memset(t.scratch, 0xA5, scratch_asked);
    if (out.capacity < self.needed)
        see(self, 18, "space for %llu rows after RATION_E_CAPACITY, which needed %llu",
            static_cast<unsigned long long>(out.capacity), static_cast<unsigned long long>(self.needed));
    self.needed = 0;
}

[[nodiscard]] std::int32_t do_actions(instance& self) noexcept {
    for (auto const& planned : self.faults) {
        if (planned.what == fault::none || planned.at != self.calls) continue;
        if (planned.what == fault::abort) std::abort();
        if (planned.what == fault::refuse) return RATION_E_UNSUPPORTED;
        if (planned.what == fault::lose) {
            self.lost = true;
            return RATION_E_STATE;
        }
        static constexpr std::string_view inside = "lingering";
        if (self.host.log != nullptr) self.host.log(self.host.ctx, RATION_LOG_DEBUG, inside.data(), inside.size());
        timespec const millisecond{0, 1'000'000};
        for (int i = 0; i < 2000 && !anything_seen(); ++i) ::nanosleep(&millisecond, nullptr);
    }
    return RATION_OK;
}

/// A share of the first node, a little different at each tick, for as many running jobs as can be remembered.
[[nodiscard]] std::int32_t answer(instance& self, ration_tick const& t, ration_out& out) noexcept {
    auto const jobs = t.table[RATION_JOBS]->n_rows;
    auto const* const state = values<std::uint32_t>(t, RATION_JOBS, self.slot.state);
    std::uint64_t running = 0;
    for (std::uint64_t j = 0; j < jobs; ++j) running += state[j] == RATION_RUNNING;
    std::uint64_t const rows = t.table[RATION_NODES]->n_rows == 0 ? 0 : running < most_rows ? running : most_rows;
    if (rows > out.capacity) {
        self.needed = out.needed = rows;
        return RATION_E_CAPACITY;
    }
    self.answered = 0;
    for (std::uint32_t j = 0; self.answered < rows; ++j) {
        if (state[j] != RATION_RUNNING) continue;
        auto const least = values<std::int64_t>(t, RATION_JOBS, self.slot.least)[j];
        auto const share = values<std::int64_t>(t, RATION_NODES, self.slot.capacity)[0] /
                           static_cast<std::int64_t>(running + t.number % 3);
        ration_grant const row{j, 0, RATION_CPU, 1, self.answered < 2 ? 1u : 0u, share > least ? share : least};
        out.grant[self.answered] = row;
        self.answer[self.answered++] = {values<std::uint64_t>(t, RATION_JOBS, self.slot.id)[j], row, false, false};
    }
    out.count = self.answered;
    self.last_tick = t.number;
    return RATION_OK;
}

/// H12 again: what was written is still there.
void inspect_output(instance& self, ration_out const& out) noexcept {
    for (std::size_t i = 0; i < self.answered; ++i)
        if (std::memcmp(&out.grant[i], &self.answer[i].row, sizeof(ration_grant)) != 0)
            return see(self, 12, "row %zu of the output changed while the call ran", i);
}

[[nodiscard]] std::int32_t decide_with(instance& self, ration_tick const& t, ration_out& out) noexcept {
    if (shares_its_output(self)) {
        see(self, 12, "another call writes into the same output");
        return RATION_E_INTERNAL;
    }
    inspect_tick(self, t, out);
    if (!inspect_tables(self, t)) return RATION_E_INTERNAL;
    inspect_last_group(self, t);
    ++self.calls;
    self.answered = 0;
    auto const reply = answer(self, t, out);
    if (reply != RATION_OK) return reply;
    auto const fault = do_actions(self);
    if (fault == RATION_OK) inspect_output(self, out);
    if (fault != RATION_OK) self.answered = 0;
    return fault;
}

std::int32_t decide(void* place, ration_tick const* t, ration_out* out) {
    auto* const self = known(place, "decide");
    if (self == nullptr) return RATION_E_INTERNAL;
    turn const alone(*self, "decide");
    if (!alone) return RATION_E_INTERNAL;
    if (!self->bound) {
        see(*self, 2, "decide before bind");
        return RATION_E_INTERNAL;
    }
    if (!has_size(*self, "ration_tick", t->struct_size, sizeof *t) ||
        !has_size(*self, "ration_out", out->struct_size, sizeof *out))
        return RATION_E_INTERNAL;
    if (out->flags != 0) see(*self, 15, "ration_out has flags %#x, which are zero", out->flags);
    self->output_end = out->grant + out->capacity;
    self->output = out->grant;
    auto const reply = decide_with(*self, *t, *out);
    self->output = nullptr;
    self->output_end = nullptr;
    self->failed |= reply != RATION_OK;
    return reply;
}

std::int32_t save(void* place, void* buffer, std::uint64_t capacity, std::uint64_t* size) {
    auto* const self = known(place, "save");
    if (self == nullptr) return RATION_E_INTERNAL;
    turn const alone(*self, "save");
    if (!alone) return RATION_E_INTERNAL;
    expect_a_state(*self, "save");
    *size = sizeof(observations);
    if (capacity < *size) return RATION_E_CAPACITY;
    self->seen.checksum = self->seen.sum();
    std::memcpy(buffer, &self->seen, sizeof self->seen);
    return RATION_OK;
}

/// What the instance that saved has seen was seen.
std::int32_t load(void* place, void const* buffer, std::uint64_t size) {
    auto* const self = known(place, "load");
    if (self == nullptr) return RATION_E_INTERNAL;
    turn const alone(*self, "load");
    observations saved;
    if (!alone || !read(buffer, size, saved)) return RATION_E_STATE;
    for (int number = 1; number <= misbehaviours; ++number) {
        if (self->seen.count[number] == 0)
            std::memcpy(self->seen.first[number], saved.first[number], sizeof saved.first[number]);
        self->seen.count[number] += saved.count[number];
    }
    self->lost = false;
    return RATION_OK;
}

}  // namespace
}  // namespace leak_check

RATION_MANIFEST leak_check_manifest = {
    RATION_ABI_MAGIC,
    sizeof(ration_manifest),
    0,
    RATION_LAYOUT,
    RATION_F_DETERMINISTIC,
    "org.example.leak_check",
    "leak_check",
    "1.0.0",
    "the tests",
    "BSL-1.0",
    "watches its host",
    "jobs/id u64\njobs/state u32\njobs/min.cpu i64\njobs/held.cpu i64\nnodes/capacity.cpu i64\n",
    "",
    "\na share of the first node\n",
    "",
    ""};

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {sizeof(ration_policy),
                                        RATION_F_DETERMINISTIC,
                                        &leak_check_manifest,
                                        &leak_check::create,
                                        &leak_check::destroy,
                                        &leak_check::bind,
                                        &leak_check::on_event,
                                        &leak_check::decide,
                                        &leak_check::save,
                                        &leak_check::load,
                                        nullptr};
}
