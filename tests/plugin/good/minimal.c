// SPDX-License-Identifier: BSL-1.0
/* The least that is a plugin: it needs nothing, remembers nothing and grants nothing. */
#include <ration/plugin/abi.h>

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            RATION_F_DETERMINISTIC,
                            "org.example.minimal",
                            "minimal",
                            "1.0.0",
                            "",
                            "",
                            "",
                            "",
                            "",
                            "",
                            "",
                            ""};

static int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
                      uint64_t err_size) {
    (void)host;
    (void)config;
    (void)length;
    (void)err;
    (void)err_size;
    *self = NULL;
    return RATION_OK;
}
static void destroy(void* self) { (void)self; }
static int32_t bind_schema(void* self, ration_schema const* schema, uint64_t* scratch_size, char* err,
                           uint64_t err_size) {
    (void)self;
    (void)schema;
    (void)err;
    (void)err_size;
    *scratch_size = 0;
    return RATION_OK;
}
static int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    (void)self;
    (void)tick;
    out->count = 0;
    return RATION_OK;
}

extern RATION_EXPORT const ration_policy ration_policy_v1;
ration_policy const ration_policy_v1 = {
    sizeof(ration_policy), RATION_F_DETERMINISTIC, &manifest, create, destroy, bind_schema, 0, decide, 0, 0, 0};
