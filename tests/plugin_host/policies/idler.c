// SPDX-License-Identifier: BSL-1.0
/* Uses what the header of the next minor version appends, where it is built with that and where the host has it: it
   grants its one job 100 times the incarnation of the tick, 10 for each call of `idle` and 1 for each event of the new
   kind. */
#include <stdlib.h>

#include <ration/plugin/abi.h>

typedef struct idler {
    int64_t calls, events;
} idler;

static int32_t create(ration_host const* host, char const* config, uint64_t config_length, void** self, char* err,
                      uint64_t err_size) {
    (void)host;
    (void)config;
    (void)config_length;
    (void)err;
    (void)err_size;
    *self = calloc(1, sizeof(idler));
    return *self == NULL ? RATION_E_NOMEM : RATION_OK;
}

static int32_t bind(void* self, ration_schema const* schema, uint64_t* scratch_size, char* err, uint64_t err_size) {
    (void)self;
    (void)schema;
    (void)err;
    (void)err_size;
    *scratch_size = 0;
    return RATION_OK;
}

static int32_t on_event(void* self, ration_event const* events, uint64_t count, uint32_t stride) {
    for (uint64_t i = 0; i < count; ++i) {
        ration_event const* event = (ration_event const*)((char const*)events + i * stride);
#if RATION_ABI_MINOR >= 1
        if (event->kind == RATION_EV_IDLE) ++((idler*)self)->events;
#endif
        (void)self;
        (void)event;
    }
    return RATION_OK;
}

static int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    idler const* mine = self;
    ration_grant grant = {0, 0, RATION_CPU, 0, 0, mine->calls * 10 + mine->events};
#if RATION_ABI_MINOR >= 1
    if (tick->struct_size >= offsetof(ration_tick, incarnation) + sizeof tick->incarnation)
        grant.amount += (int64_t)tick->incarnation * 100;
#endif
    (void)tick;
    out->needed = 1;
    if (out->capacity == 0) return RATION_E_CAPACITY;
    out->grant[0] = grant;
    out->count = 1;
    return RATION_OK;
}

RATION_MANIFEST idler_manifest = {.magic = RATION_ABI_MAGIC,
                                  .struct_size = sizeof(ration_manifest),
                                  .layout = RATION_LAYOUT,
#if RATION_ABI_MINOR >= 1
                                  .homepage = "https://example.org",
#endif
                                  .id = "org.example.idler",
                                  .name = "idler",
                                  .version = "1.0.0"};

#if RATION_ABI_MINOR >= 1
static int32_t idle(void* self) {
    ++((idler*)self)->calls;
    return RATION_OK;
}
#endif

extern RATION_EXPORT const ration_policy ration_policy_v1;
ration_policy const ration_policy_v1 = {.struct_size = sizeof(ration_policy),
                                        .manifest = &idler_manifest,
                                        .create = create,
                                        .destroy = free,
                                        .bind = bind,
                                        .on_event = on_event,
#if RATION_ABI_MINOR >= 1
                                        .idle = idle,
#endif
                                        .decide = decide};
