// SPDX-License-Identifier: BSL-1.0
// The policy itself: everything but the tick's misdeeds and the state.
#include "misbehaving.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misbehaving {

void report(char const* sentence, char* err, std::uint64_t size) {
    if (misbehaviour == 7) {
        std::strcpy(err, sentence);
        return;
    }
    if (misbehaviour == 48) {
        std::strncpy(err, sentence, size);
        return;
    }
    std::snprintf(err, size, "%s", sentence);
}

namespace {

std::int32_t create(ration_host const*, char const*, std::uint64_t length, void** self, char* err,
                    std::uint64_t err_size) {
    on_create(err, err_size);
    if (length != 0) {
        report("this policy takes no parameters: leave them out, whatever they are", err, err_size);
        return RATION_E_ARG;
    }
    auto* const mine = static_cast<instance*>(std::calloc(1, sizeof(instance)));
    if (mine == nullptr) return RATION_E_NOMEM;
    std::memcpy(mine->seen.magic, "misbehaving-st1", sizeof mine->seen.magic);
    *self = mine;
    return RATION_OK;
}

void destroy(void* self) {
    auto* const mine = static_cast<instance*>(self);
    on_destroy(mine);
    if (misbehaviour != 9) std::free(mine);
}

ration_column const* column(ration_schema const* schema, std::uint32_t i) {
    auto const stride = misbehaviour == 10 ? sizeof(ration_column) : schema->column_stride;
    return reinterpret_cast<ration_column const*>(reinterpret_cast<char const*>(schema->column) + i * stride);
}

bool find(ration_schema const* schema, char const* name, std::uint32_t type, std::uint32_t* slot) {
    for (std::uint32_t i = 0; i < schema->n_columns; ++i) {
        auto const* const c = column(schema, i);
        if (std::strcmp(c->name, name) != 0) continue;
        *slot = c->slot;
        return (c->type == type || misbehaviour == 44) && c->width == 1 && c->slot != RATION_NO_SLOT;
    }
    return false;
}

std::int32_t bind(void* self, ration_schema const* schema, std::uint64_t* scratch, char* err, std::uint64_t err_size) {
    auto* const mine = static_cast<instance*>(self);
    *scratch = scratch_size;
    if (misbehaviour == 55 && mine->is_bound) return RATION_OK;
    mine->is_bound = true;
    if (misbehaviour == 11 && schema->n_columns == 0) return RATION_OK;
    if (find(schema, "jobs/state", RATION_U32, &mine->slot.state) &&
        find(schema, "jobs/min.cpu", RATION_I64, &mine->slot.least) &&
        find(schema, "jobs/max.cpu", RATION_I64, &mine->slot.most) &&
        find(schema, "nodes/capacity.cpu", RATION_I64, &mine->slot.capacity))
        return RATION_OK;
    report("it needs jobs/state, jobs/min.cpu, jobs/max.cpu and nodes/capacity.cpu, and this host lacks one of them",
           err, err_size);
    return RATION_E_UNSUPPORTED;
}

std::int32_t on_event(void* self, ration_event const* events, std::uint64_t count, std::uint32_t stride) {
    auto* const mine = static_cast<instance*>(self);
    for (std::uint64_t i = 0; i < count; ++i) {
        ration_event event;
        std::memcpy(&event, reinterpret_cast<char const*>(events) + i * stride, sizeof event);
        if (misbehaviour == 12 && event.kind > RATION_EV_STATE_LOST) std::abort();
        ++mine->seen.events;
    }
    return RATION_OK;
}

template <class T>
T const* values(ration_tick const* tick, std::uint32_t table, std::uint32_t slot) {
    return static_cast<T const*>(tick->table[table]->slot[slot]);
}

std::int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    auto* const mine = static_cast<instance*>(self);
    on_decide(mine, tick);
    auto const* const state = values<std::uint32_t>(tick, RATION_JOBS, mine->slot.state);
    auto const* const least = values<std::int64_t>(tick, RATION_JOBS, mine->slot.least);
    auto const* const most = values<std::int64_t>(tick, RATION_JOBS, mine->slot.most);
    auto const* capacity = values<std::int64_t>(tick, RATION_NODES, mine->slot.capacity);
    if (misbehaviour == 56 && mine->former_capacity != nullptr) capacity = mine->former_capacity;
    mine->former_capacity = capacity;
    std::uint64_t const jobs = tick->table[RATION_JOBS]->n_rows, nodes = tick->table[RATION_NODES]->n_rows;
    std::uint64_t running = 0, count = 0;
    for (std::uint64_t j = 0; j < jobs; ++j) running += state[j] == RATION_RUNNING;
    if (running > out->capacity && misbehaviour != 22) {
        out->needed = misbehaviour == 45 ? 0 : running;
        return RATION_E_CAPACITY;
    }
    for (std::uint32_t j = 0; j < jobs && nodes > 0; ++j) {
        if (state[j] != RATION_RUNNING) continue;
        std::int64_t const share = capacity[0] / static_cast<std::int64_t>(running);
        out->grant[count++] = {j, 0, RATION_CPU, 1, 0, share < least[j] ? least[j] : share > most[j] ? most[j] : share};
    }
    out->count = count;
    spoil(mine, tick, out);
    return misbehaviour == 47 ? 17 : RATION_OK;
}

// What the table of the file says. The host must see it before it runs anything.
constexpr std::uint32_t minor_needed = misbehaviour == 37 ? 999 : 0;
constexpr std::uint32_t layout = misbehaviour == 38 ? RATION_LAYOUT ^ 1 : RATION_LAYOUT;

}  // namespace
}  // namespace misbehaving

RATION_MANIFEST misbehaving_manifest = {{'R', 'A', 'T', 'I', 'O', 'N', misbehaving::misbehaviour == 36 ? '2' : '1', 0},
                                        sizeof(ration_manifest),
                                        misbehaving::minor_needed,
                                        misbehaving::layout,
                                        RATION_F_DETERMINISTIC,
                                        "org.example.misbehaving",
                                        "misbehaving",
#if MISBEHAVIOUR == 68
                                        "banana",
#else
                                        "1.0.0",
#endif
                                        "ration",
                                        "BSL-1.0",
                                        "correct but for one thing",
#if MISBEHAVIOUR == 49
                                        "jobs/state",
#elif MISBEHAVIOUR == 58
                                        "jobs/state u32\njobs/min.cpu i64\nnodes/capacity.cpu i64\n",
#else
                                        "jobs/state u32\njobs/min.cpu i64\njobs/max.cpu i64\nnodes/capacity.cpu i64\n",
#endif
#if MISBEHAVIOUR == 69
                                        "org.example.dreams/1\n",
#else
                                        "",
#endif
                                        "\nan equal share of the first node\n",
#if MISBEHAVIOUR == 53
                                        "{\"type\":"};
#else
                                        ""};
#endif

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {misbehaving::misbehaviour == 39 ? 0x7fffffffu : sizeof(ration_policy),
                                        RATION_F_DETERMINISTIC,
                                        &misbehaving_manifest,
                                        &misbehaving::create,
                                        &misbehaving::destroy,
                                        misbehaving::misbehaviour == 40 ? nullptr : &misbehaving::bind,
                                        &misbehaving::on_event,
                                        &misbehaving::decide,
                                        &misbehaving::save,
                                        &misbehaving::load,
                                        nullptr};
#if MISBEHAVIOUR == 2
RATION_EXPORT int one_export_too_many() { return 1; }
#endif
}
