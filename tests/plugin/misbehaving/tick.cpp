// SPDX-License-Identifier: BSL-1.0
// What goes wrong during a tick.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "misbehaving.hpp"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace misbehaving {
namespace {

/// A use of memory that the optimiser cannot follow.
void use(void* place) { __asm__ volatile("" : : "g"(place) : "memory"); }

[[gnu::noinline]] void take_64_mib_of_stack() {
    char volatile large[64 << 20];
    large[0] = 1;
    use(const_cast<char*>(large));
}

[[noreturn]] void loop(instance* self) {
    for (;;) use(self);
}

void write_to_inputs(instance* self, ration_tick const* tick) {
    auto* const states =
        const_cast<std::uint32_t volatile*>(values<std::uint32_t>(tick, RATION_JOBS, self->slot.state));
    if (rows(tick, RATION_JOBS) > 0) states[0] = states[0];  // what was there: nothing else may come of it
}

/// The padding behind a column has 64 bytes at most.
void read_past_column(instance* self, ration_tick const* tick) {
    std::uint32_t const volatile* const states = values<std::uint32_t>(tick, RATION_JOBS, self->slot.state);
    static_cast<void>(states[rows(tick, RATION_JOBS) + 64 / sizeof states[0]]);
}

void allocate() {
    auto* const place = std::malloc(64);
    use(place);
    std::free(place);
}

void change_float_mode() {
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
}

/// A policy must not do this to measure how busy the machine is.
void read_the_load() {
    char text[64];
    int const file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static_cast<void>(!read(file, text, sizeof text));
    close(file);
}

/// A tick that prints through it allocates nothing, and nothing arrives before the buffer is full.
struct record_file {
    char buffer[BUFSIZ];
    FILE* to = fdopen(STDERR_FILENO, "w");  // which nothing else uses when the library is unloaded
    record_file() { std::setvbuf(to, buffer, _IOFBF, sizeof buffer); }
    ~record_file() { std::fclose(to); }
};

[[nodiscard]] FILE* record() {
    static record_file file;
    return file.to;
}

[[gnu::constructor]] void open_record() {
    if constexpr (is(misbehaviour::prints_through_buffer)) static_cast<void>(record());
}

}  // namespace

void on_decide(instance* self, ration_tick const* tick) {
    if constexpr (is(misbehaviour::throws_in_decide)) throw refusal();
    if constexpr (is(misbehaviour::aborts_in_decide)) std::abort();
    if constexpr (is(misbehaviour::exits_in_decide)) _exit(0);
    if constexpr (is(misbehaviour::loops_in_decide)) loop(self);
    if constexpr (is(misbehaviour::writes_to_inputs)) write_to_inputs(self, tick);
    if constexpr (is(misbehaviour::reads_past_column)) read_past_column(self, tick);
    if constexpr (is(misbehaviour::allocates_in_decide)) allocate();
    if constexpr (is(misbehaviour::changes_float_mode)) change_float_mode();
    if constexpr (is(misbehaviour::overflows_stack)) take_64_mib_of_stack();
    if constexpr (is(misbehaviour::overruns_scratch)) std::memset(tick->scratch, 0, tick->scratch_size + 64);
    if constexpr (is(misbehaviour::writes_to_former_output))
        if (self->former_output != nullptr) self->former_output[0].amount = 1;
    if constexpr (is(misbehaviour::writes_to_stdout_in_decide)) static_cast<void>(!write(STDOUT_FILENO, "tick\n", 5));
    if constexpr (is(misbehaviour::reads_file_in_decide)) read_the_load();
    if constexpr (is(misbehaviour::sleeps_in_decide)) usleep(100);
    if constexpr (is(misbehaviour::prints_through_buffer)) std::fputs("tick\n", record());
}

namespace {

/// A job's bounds are those of its sum: the second row becomes one of the first one's job, on the second node.
void add_row_elsewhere(ration_out* out, std::int64_t amount, std::uint32_t group = 0) {
    out->grant[1] = out->grant[0];
    out->grant[1].node = 1;
    out->grant[1].amount = amount;
    out->grant[1].group = group;
}

[[nodiscard]] std::int64_t of_first_job(ration_tick const* tick, ration_out const* out, std::uint32_t slot) {
    return values<std::int64_t>(tick, RATION_JOBS, slot)[out->grant[0].job];
}

void grant_all_without_maximum(instance* self, ration_tick const* tick, ration_out* out) {
    auto const* const capacity = values<std::int64_t>(tick, RATION_NODES, self->slot.capacity);
    auto const* const most = values<std::int64_t>(tick, RATION_JOBS, self->slot.most);
    for (std::uint64_t i = 0; i < out->count; ++i)
        if (most[out->grant[i].job] == RATION_UNLIMITED) out->grant[i].amount = capacity[0];
}

void exceed_maximum(instance* self, ration_tick const* tick, ration_out* out) {
    std::int64_t const most = of_first_job(tick, out, self->slot.most);
    if (most != RATION_UNLIMITED) add_row_elsewhere(out, most);
}

void miss_minimum(instance* self, ration_tick const* tick, ration_out* out) {
    std::int64_t const least = of_first_job(tick, out, self->slot.least);
    if (least <= 0) return;
    out->grant[0].amount = least / 4;
    add_row_elsewhere(out, least / 4);
}

void split_over_groups(ration_out* out) {
    ration_grant& first = out->grant[0];
    first.group = 1;
    add_row_elsewhere(out, first.amount / 2, 2);
    first.amount -= first.amount / 2;
}

/// Rows and their amounts that break a rule.
void spoil_amounts(instance* self, ration_tick const* tick, ration_out* out) {
    if constexpr (is(misbehaviour::grants_negative_amount)) out->grant[0].amount = -1;
    if constexpr (is(misbehaviour::grants_huge_amount)) out->grant[0].amount = INT64_MAX - 1;
    if constexpr (is(misbehaviour::grants_above_capacity)) grant_all_without_maximum(self, tick, out);
    if (out->count < 2 || rows(tick, RATION_NODES) < 2) return;
    if constexpr (is(misbehaviour::exceeds_maximum_over_nodes)) exceed_maximum(self, tick, out);
    if constexpr (is(misbehaviour::misses_minimum_over_nodes)) miss_minimum(self, tick, out);
    if constexpr (is(misbehaviour::splits_job_over_groups)) split_over_groups(out);
}

unsigned calls = 0;  // shared by all instances

}  // namespace

std::uint32_t const* states(instance* self, ration_tick const* tick) {
    auto const* const shown = values<std::uint32_t>(tick, RATION_JOBS, self->slot.state);
    constexpr bool forgets_a_group = is(misbehaviour::ignores_changed_state);
    if (!forgets_a_group && !is(misbehaviour::ignores_moved_rows)) return shown;
    auto const* const list = tick->changes == nullptr ? nullptr : tick->changes[RATION_JOBS];
    if (list == nullptr || list->everything != 0 || (forgets_a_group && list->moved != 0)) {
        for (std::uint32_t row = 0; row < rows(tick, RATION_JOBS); ++row) self->known_state[row] = shown[row];
        return self->known_state;
    }
    constexpr std::uint32_t read_for = forgets_a_group ? RATION_C_DESCRIPTION : RATION_C_DESCRIPTION | RATION_C_STATE;
    for (std::uint64_t i = 0; i < list->count; ++i)
        if ((list->groups[i] & read_for) != 0) self->known_state[list->row[i]] = shown[list->row[i]];
    return self->known_state;
}

void spoil(instance* self, ration_tick const* tick, ration_out* out) {
    if (out->count == 0) return;
    ration_grant& first = out->grant[0];
    if constexpr (is(misbehaviour::grants_to_unknown_job)) first.job = rows(tick, RATION_JOBS);
    if constexpr (is(misbehaviour::grants_on_unknown_node)) first.node = rows(tick, RATION_NODES);
    if constexpr (is(misbehaviour::grants_on_fourth_of_three_nodes))
        if (rows(tick, RATION_NODES) == 3) first.node = 3;
    if constexpr (is(misbehaviour::grants_twice))
        if (out->count > 1) out->grant[1] = first;
    spoil_amounts(self, tick, out);
    if constexpr (is(misbehaviour::shares_state_of_instances)) first.reason = static_cast<std::uint16_t>(++calls % 2);
    if constexpr (is(misbehaviour::ignores_repeated_tick))
        first.reason = static_cast<std::uint16_t>(++self->seen.ticks % 2);
    if constexpr (is(misbehaviour::counts_too_many_grants)) out->count = out->capacity + 1;
    if constexpr (is(misbehaviour::writes_to_former_output)) self->former_output = out->grant;
    if constexpr (is(misbehaviour::replaces_output)) out->grant = &first + 1;
}

}  // namespace misbehaving
