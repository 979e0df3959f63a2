// SPDX-License-Identifier: BSL-1.0
// What goes wrong during a tick.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "misbehaving.hpp"

#if MISBEHAVIOUR == 19 && defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace misbehaving {
namespace {

/// Memory that the optimiser knows nothing of.
[[maybe_unused]] void use(void* place) { __asm__ volatile("" : : "g"(place) : "memory"); }

#if MISBEHAVIOUR == 20
__attribute__((noinline)) void take_64_mib_of_stack() {
    char volatile large[64 << 20];
    large[0] = 1;
    use(const_cast<char*>(large));
}
#endif

/// A job's bounds are those of its sum: the second row becomes one of the first one's job, on the second node.
[[maybe_unused]] void add_row_elsewhere(ration_out* out, std::int64_t amount, std::uint32_t group = 0) {
    out->grant[1] = out->grant[0];
    out->grant[1].node = 1;
    out->grant[1].amount = amount;
    out->grant[1].group = group;
}

[[maybe_unused]] std::int64_t of_first_job(ration_tick const* tick, ration_out const* out, std::uint32_t slot) {
    return static_cast<std::int64_t const*>(tick->table[RATION_JOBS]->slot[slot])[out->grant[0].job];
}

/// What a policy must not do that wants to know how busy the machine is.
[[maybe_unused]] void read_the_load() {
    char text[64];
    int const file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static_cast<void>(!read(file, text, sizeof text));
    close(file);
}

#if MISBEHAVIOUR == 62
/// Open from the beginning, with a buffer of its own: a tick that prints allocates nothing, and nothing arrives before
/// the buffer is full.
struct record_file {
    char buffer[BUFSIZ];
    FILE* to = fdopen(STDERR_FILENO, "w");  // which nothing else uses when the library is unloaded
    record_file() { std::setvbuf(to, buffer, _IOFBF, sizeof buffer); }
    ~record_file() { std::fclose(to); }
} record;
#endif

[[maybe_unused]] unsigned calls = 0;  // shared by all instances

}  // namespace

void on_decide(instance* self, [[maybe_unused]] ration_tick const* tick) {
#if MISBEHAVIOUR == 13
    throw refusal();
#elif MISBEHAVIOUR == 14
    std::abort();
#elif MISBEHAVIOUR == 15
    _exit(0);
#elif MISBEHAVIOUR == 16
    for (;;) use(self);
#elif MISBEHAVIOUR == 17
    auto const* const table = tick->table[RATION_JOBS];
    auto* const states = static_cast<std::uint32_t volatile*>(const_cast<void*>(table->slot[self->slot.state]));
    if (table->n_rows > 0) states[0] = states[0];  // what was there: nothing else may come of it
#elif MISBEHAVIOUR == 18
    auto* const place = std::malloc(64);
    use(place);
    std::free(place);
#elif MISBEHAVIOUR == 19 && defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#elif MISBEHAVIOUR == 20
    take_64_mib_of_stack();
#elif MISBEHAVIOUR == 21
    std::memset(tick->scratch, 0, tick->scratch_size + 64);
#elif MISBEHAVIOUR == 31
    if (self->former_output != nullptr) self->former_output[0].amount = 1;
#elif MISBEHAVIOUR == 46
    auto const* const states =
        static_cast<std::uint32_t const volatile*>(tick->table[RATION_JOBS]->slot[self->slot.state]);
    static_cast<void>(states[tick->table[RATION_JOBS]->n_rows + 64 / sizeof states[0]]);  // the padding ends before
#elif MISBEHAVIOUR == 59
    static_cast<void>(!write(STDOUT_FILENO, "tick\n", 5));
#elif MISBEHAVIOUR == 60
    read_the_load();
#elif MISBEHAVIOUR == 61
    usleep(100);
#elif MISBEHAVIOUR == 62
    std::fputs("tick\n", record.to);
#endif
    static_cast<void>(self);
}

void spoil([[maybe_unused]] instance* self, [[maybe_unused]] ration_tick const* tick, ration_out* out) {
    if (out->count == 0) return;
    [[maybe_unused]] ration_grant& first = out->grant[0];
#if MISBEHAVIOUR == 23
    first.job = static_cast<std::uint32_t>(tick->table[RATION_JOBS]->n_rows);
#elif MISBEHAVIOUR == 24
    first.node = static_cast<std::uint32_t>(tick->table[RATION_NODES]->n_rows);
#elif MISBEHAVIOUR == 25
    first.amount = -1;
#elif MISBEHAVIOUR == 26
    first.amount = INT64_MAX - 1;
#elif MISBEHAVIOUR == 27
    auto const* const capacity = static_cast<std::int64_t const*>(tick->table[RATION_NODES]->slot[self->slot.capacity]);
    auto const* const most = static_cast<std::int64_t const*>(tick->table[RATION_JOBS]->slot[self->slot.most]);
    for (std::uint64_t i = 0; i < out->count; ++i)
        if (most[out->grant[i].job] == RATION_UNLIMITED) out->grant[i].amount = capacity[0];
#elif MISBEHAVIOUR == 28
    if (out->count > 1) out->grant[1] = first;
#elif MISBEHAVIOUR == 29
    first.reason = static_cast<std::uint16_t>(++calls % 2);
#elif MISBEHAVIOUR == 70
    first.reason = static_cast<std::uint16_t>(++self->seen.ticks % 2);
#elif MISBEHAVIOUR == 30
    out->count = out->capacity + 1;
#elif MISBEHAVIOUR == 31
    self->former_output = out->grant;
#elif MISBEHAVIOUR == 41
    if (tick->table[RATION_NODES]->n_rows == 3) first.node = 3;
#elif MISBEHAVIOUR == 32
    out->grant = &first + 1;
#elif MISBEHAVIOUR >= 50 && MISBEHAVIOUR <= 52
    if (out->count < 2 || tick->table[RATION_NODES]->n_rows < 2) return;
    if (MISBEHAVIOUR == 50) {
        std::int64_t const most = of_first_job(tick, out, self->slot.most);
        if (most != RATION_UNLIMITED) add_row_elsewhere(out, most);
    } else if (MISBEHAVIOUR == 51) {
        std::int64_t const least = of_first_job(tick, out, self->slot.least);
        if (least > 0) {
            first.amount = least / 4;
            add_row_elsewhere(out, least / 4);
        }
    } else {
        first.group = 1;
        add_row_elsewhere(out, first.amount / 2, 2);
        first.amount -= first.amount / 2;
    }
#endif
}

}  // namespace misbehaving
