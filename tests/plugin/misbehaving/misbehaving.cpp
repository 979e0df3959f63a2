// SPDX-License-Identifier: BSL-1.0
// The policy itself: everything but the tick's misdeeds and the state.
#include "misbehaving.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misbehaving {

void report(char const* sentence, char* err, std::uint64_t size) {
    if (is(misbehaviour::overruns_err)) {
        std::strcpy(err, sentence);
        return;
    }
    if (is(misbehaviour::leaves_err_without_end)) {
        std::strncpy(err, sentence, size);
        return;
    }
    std::snprintf(err, size, "%s", sentence);
}

namespace {

std::int32_t create(ration_host const*, char const*, std::uint64_t length, void** self, char* err,
                    std::uint64_t err_size) {
    on_create();
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
    on_destroy();
    if (!is(misbehaviour::leaks_instance)) std::free(mine);
}

ration_column const* column(ration_schema const* schema, std::uint32_t i) {
    auto const stride = is(misbehaviour::ignores_column_stride) ? sizeof(ration_column) : schema->column_stride;
    return reinterpret_cast<ration_column const*>(reinterpret_cast<char const*>(schema->column) + i * stride);
}

bool find(ration_schema const* schema, char const* name, std::uint32_t type, std::uint32_t* slot) {
    for (std::uint32_t i = 0; i < schema->n_columns; ++i) {
        auto const* const c = column(schema, i);
        if (std::strcmp(c->name, name) != 0) continue;
        *slot = c->slot;
        return (c->type == type || is(misbehaviour::ignores_column_type)) && c->width == 1 && c->slot != RATION_NO_SLOT;
    }
    return false;
}

std::int32_t bind(void* self, ration_schema const* schema, std::uint64_t* scratch, char* err, std::uint64_t err_size) {
    auto* const mine = static_cast<instance*>(self);
    *scratch = scratch_size;
    if (is(misbehaviour::ignores_second_bind) && mine->is_bound) return RATION_OK;
    mine->is_bound = true;
    if (is(misbehaviour::binds_without_columns) && schema->n_columns == 0) return RATION_OK;
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
        if (is(misbehaviour::aborts_on_unknown_event) && event.kind > RATION_EV_STATE_LOST) std::abort();
        ++mine->seen.events;
    }
    return RATION_OK;
}

std::int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    auto* const mine = static_cast<instance*>(self);
    on_decide(mine, tick);
    auto const* const state = states(mine, tick);
    auto const* const least = values<std::int64_t>(tick, RATION_JOBS, mine->slot.least);
    auto const* const most = values<std::int64_t>(tick, RATION_JOBS, mine->slot.most);
    auto const* capacity = values<std::int64_t>(tick, RATION_NODES, mine->slot.capacity);
    if (is(misbehaviour::reads_former_capacity) && mine->former_capacity != nullptr) capacity = mine->former_capacity;
    mine->former_capacity = capacity;
    if (mine->first_capacity == 0) mine->first_capacity = capacity[0];
    std::int64_t const divided = is(misbehaviour::ignores_changed_capacity) ? mine->first_capacity : capacity[0];
    std::uint64_t const jobs = tick->table[RATION_JOBS]->n_rows, nodes = tick->table[RATION_NODES]->n_rows;
    std::uint64_t running = 0, count = 0;
    for (std::uint64_t j = 0; j < jobs; ++j) running += state[j] == RATION_RUNNING;
    if (running > out->capacity && !is(misbehaviour::overruns_output)) {
        out->needed = is(misbehaviour::reports_no_needed_rows) ? 0 : running;
        return RATION_E_CAPACITY;
    }
    for (std::uint32_t j = 0; j < jobs && nodes > 0; ++j) {
        if (state[j] != RATION_RUNNING) continue;
        std::int64_t const share = divided / static_cast<std::int64_t>(running);
        out->grant[count++] = {j, 0, RATION_CPU, 1, 0, share < least[j] ? least[j] : share > most[j] ? most[j] : share};
    }
    out->count = count;
    spoil(mine, tick, out);
    return is(misbehaviour::returns_unknown_code_in_decide) ? unknown_code : RATION_OK;
}

/// Replaces the text of a field.
template <std::size_t N, std::size_t M>
constexpr void set(char (&field)[N], char const (&text)[M]) noexcept {
    static_assert(M <= N);
    for (std::size_t i = 0; i < N; ++i) field[i] = i < M ? text[i] : '\0';
}

/// It reads all rows whatever has changed, which is correct.
constexpr std::uint32_t flags = RATION_F_DETERMINISTIC | RATION_F_FOLLOWS_CHANGES;

/// The host must see it before it runs anything.
[[nodiscard]] constexpr ration_manifest make_manifest() noexcept {
    ration_manifest made{RATION_ABI_MAGIC,
                         sizeof(ration_manifest),
                         0,
                         RATION_LAYOUT,
                         flags,
                         "org.example.misbehaving",
                         "misbehaving",
                         "1.0.0",
                         "ration",
                         "BSL-1.0",
                         "correct but for one thing",
                         "jobs/state u32\njobs/min.cpu i64\njobs/max.cpu i64\nnodes/capacity.cpu i64\n",
                         "",
                         "\nan equal share of the first node\n",
                         "",
                         ""};
    if (is(misbehaviour::has_another_abi)) made.magic[6] = '2';
    if (is(misbehaviour::needs_later_minor)) made.abi_minor_needed = 999;
    if (is(misbehaviour::has_another_layout)) made.layout ^= 1;
    if (is(misbehaviour::has_malformed_version)) set(made.version, "banana");
    if (is(misbehaviour::has_malformed_needs)) set(made.needs, "jobs/state");
    if (is(misbehaviour::omits_needed_column))
        set(made.needs, "jobs/state u32\njobs/min.cpu i64\nnodes/capacity.cpu i64\n");
    if (is(misbehaviour::needs_unknown_extension)) set(made.extensions, "org.example.dreams/1\n");
    if (is(misbehaviour::has_malformed_schema)) set(made.parameters, "{\"type\":");
    return made;
}

RATION_MANIFEST manifest = make_manifest();
constexpr std::uint32_t table_size =
    is(misbehaviour::has_absurd_table_size) ? 0x7fffffffu : std::uint32_t{sizeof(ration_policy)};

}  // namespace
}  // namespace misbehaving

extern "C" {
extern RATION_EXPORT ration_policy const ration_policy_v1;
ration_policy const ration_policy_v1 = {
    misbehaving::table_size,
    misbehaving::flags,
    &misbehaving::manifest,
    &misbehaving::create,
    &misbehaving::destroy,
    misbehaving::is(misbehaving::misbehaviour::lacks_bind) ? nullptr : &misbehaving::bind,
    &misbehaving::on_event,
    &misbehaving::decide,
    &misbehaving::save,
    &misbehaving::load,
    nullptr};

/// Where the misbehaviour is `exports_too_much`, CMake links without the list of exports, which hides it elsewhere.
RATION_EXPORT int one_export_too_many() { return 1; }
}
