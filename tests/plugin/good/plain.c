// SPDX-License-Identifier: BSL-1.0
/* A plugin in C99 with nothing but abi.h: every running job gets the same share of the CPUs of each node. It reports
   each tick through the host's log, which is the only way to report something during a tick. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ration/plugin/abi.h>

RATION_MANIFEST manifest = {RATION_ABI_MAGIC,
                            sizeof(ration_manifest),
                            0,
                            RATION_LAYOUT,
                            RATION_F_DETERMINISTIC,
                            "org.example.plain",
                            "plain",
                            "1.0.0",
                            "an example",
                            "BSL-1.0",
                            "equal shares on every node",
                            "jobs/state u32\nnodes/capacity.cpu i64\n",
                            "",
                            "\nthe same for all\n",
                            "",
                            ""};

typedef struct plain {
    ration_host const* host;
    uint32_t state, capacity; /* slots */
} plain;

static int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
                      uint64_t err_size) {
    plain* mine;
    (void)config;
    if (length != 0) {
        snprintf(err, (size_t)err_size, "it takes no parameters: leave them out");
        return RATION_E_ARG;
    }
    mine = calloc(1, sizeof(plain));
    if (mine == NULL) return RATION_E_NOMEM;
    mine->host = host;
    *self = mine;
    return RATION_OK;
}

static int find(ration_schema const* schema, char const* name, uint32_t type, uint32_t* slot) {
    char const* at = (char const*)schema->column;
    uint32_t i;
    for (i = 0; i < schema->n_columns; ++i, at += schema->column_stride) {
        ration_column const* column = (ration_column const*)at;
        if (strcmp(column->name, name) != 0) continue;
        *slot = column->slot;
        return column->type == type && column->width == 1 && column->slot != RATION_NO_SLOT;
    }
    return 0;
}

static int32_t bind_schema(void* self, ration_schema const* schema, uint64_t* scratch_size, char* err,
                           uint64_t err_size) {
    plain* mine = self;
    *scratch_size = 0;
    if (find(schema, "jobs/state", RATION_U32, &mine->state) &&
        find(schema, "nodes/capacity.cpu", RATION_I64, &mine->capacity))
        return RATION_OK;
    snprintf(err, (size_t)err_size, "jobs/state or nodes/capacity.cpu is missing");
    return RATION_E_UNSUPPORTED;
}

static int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    plain const* mine = self;
    ration_table const *jobs = tick->table[RATION_JOBS], *nodes = tick->table[RATION_NODES];
    uint32_t const* state = jobs->slot[mine->state];
    int64_t const* capacity = nodes->slot[mine->capacity];
    static char const lives[] = "one more tick";
    uint64_t running = 0, count = 0;
    uint32_t job, node;
    mine->host->log(mine->host->ctx, RATION_LOG_DEBUG, lives, sizeof lives - 1);
    for (job = 0; job < jobs->n_rows; ++job) running += state[job] == RATION_RUNNING;
    if (running * nodes->n_rows > out->capacity) {
        out->needed = running * nodes->n_rows;
        return RATION_E_CAPACITY;
    }
    for (job = 0; job < jobs->n_rows; ++job)
        for (node = 0; node < nodes->n_rows && state[job] == RATION_RUNNING; ++node) {
            ration_grant grant = {0, 0, RATION_CPU, 1, 0, 0};
            grant.job = job;
            grant.node = node;
            grant.amount = capacity[node] / (int64_t)running;
            out->grant[count++] = grant;
        }
    out->count = count;
    return RATION_OK;
}

/* destroy is the C library's free: a function of a vtable need not be in the plugin. */
extern RATION_EXPORT const ration_policy ration_policy_v1;
ration_policy const ration_policy_v1 = {sizeof(ration_policy),
                                        RATION_F_DETERMINISTIC,
                                        &manifest,
                                        create,
                                        free,
                                        bind_schema,
                                        NULL,
                                        decide,
                                        NULL,
                                        NULL,
                                        NULL};
