// SPDX-License-Identifier: BSL-1.0
/* The policy as a plugin in C99; it needs nothing of ration but this one header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ration/plugin/abi.h>

RATION_MANIFEST manifest = {
    RATION_ABI_MAGIC,
    sizeof(ration_manifest),
    0,
    RATION_LAYOUT,
    RATION_F_DETERMINISTIC,
    "org.example.my-policy",
    "my_policy",
    "0.1.0",
    "", /* vendor */
    "", /* license */
    "more CPU for jobs below their first tier",
    "jobs/state u32\njobs/tier u32\njobs/min.cpu i64\njobs/max.cpu i64\nnodes/capacity.cpu i64\n",
    "", /* extensions */
    "\non its way to the first tier\nhas reached its first tier\n",
    "", /* parameters */
    "" /* computes: only of an estimator */};

/* The columns that it reads, in the order of `slots`. */
enum { STATE, TIER, LEAST, MOST, CAPACITY, COLUMNS };
static const struct {
    char const* name;
    uint32_t type;
} wanted[COLUMNS] = {{"jobs/state", RATION_U32},
                     {"jobs/tier", RATION_U32},
                     {"jobs/min.cpu", RATION_I64},
                     {"jobs/max.cpu", RATION_I64},
                     {"nodes/capacity.cpu", RATION_I64}};
typedef struct my_policy {
    uint32_t slots[COLUMNS];
} my_policy;

/* The rule: what a job counts when the CPU is divided. */
static int64_t weight(uint32_t tier) { return tier == 0 ? 2 : 1; }

static int32_t create(ration_host const* host, char const* config, uint64_t length, void** self, char* err,
                      uint64_t err_size) {
    (void)host;
    (void)config;
    if (length != 0) {
        snprintf(err, (size_t)err_size, "this policy takes no parameters: leave them out");
        return RATION_E_ARG;
    }
    *self = calloc(1, sizeof(my_policy));
    return *self == NULL ? RATION_E_NOMEM : RATION_OK;
}

static int find(ration_schema const* schema, char const* name, uint32_t type, uint32_t* slot) {
    char const* at = (char const*)schema->column;
    uint32_t i;
    for (i = 0; i < schema->n_columns; ++i, at += schema->column_stride) { /* a later host's columns are longer */
        ration_column const* column = (ration_column const*)at;
        if (strcmp(column->name, name) != 0) continue;
        *slot = column->slot;
        return column->type == type && column->width == 1 && column->slot != RATION_NO_SLOT;
    }
    return 0;
}

static int32_t bind_columns(void* self, ration_schema const* schema, uint64_t* scratch_size, char* err,
                            uint64_t err_size) {
    my_policy* mine = self;
    int i;
    *scratch_size = 0;
    for (i = 0; i < COLUMNS; ++i)
        if (!find(schema, wanted[i].name, wanted[i].type, &mine->slots[i])) {
            snprintf(err, (size_t)err_size, "%s: this host does not offer the column as the policy needs it",
                     wanted[i].name);
            return RATION_E_UNSUPPORTED;
        }
    return RATION_OK;
}

static int64_t bounded(int64_t share, int64_t least,
                       int64_t most) { /* a grant is 0, which pauses the job, or within the bounds */
    if (share < least) return 0;
    if (share < RATION_LEAST_CPU) share = RATION_LEAST_CPU;
    return share < most ? share : most;
}

static int32_t decide(void* self, ration_tick const* tick, ration_out* out) {
    my_policy const* mine = self;
    ration_table const *jobs = tick->table[RATION_JOBS], *nodes = tick->table[RATION_NODES];
    uint32_t const *state = jobs->slot[mine->slots[STATE]], *tier = jobs->slot[mine->slots[TIER]];
    int64_t const *least = jobs->slot[mine->slots[LEAST]], *most = jobs->slot[mine->slots[MOST]];
    int64_t const* capacity = nodes->slot[mine->slots[CAPACITY]];
    int64_t all = 0;
    uint64_t running = 0, count = 0;
    uint32_t job;
    for (job = 0; job < jobs->n_rows; ++job)
        if (state[job] == RATION_RUNNING) {
            ++running;
            all += weight(tier[job]);
        }
    if (running > out->capacity) {
        out->needed = running;
        return RATION_E_CAPACITY;
    }
    for (job = 0; job < jobs->n_rows; ++job)
        if (state[job] == RATION_RUNNING) {
            ration_grant grant = {0, 0, RATION_CPU, 0, 0, 0};
            grant.job = job;
            grant.reason = tier[job] == 0 ? 1 : 2;
            grant.amount = bounded(capacity[0] / all * weight(tier[job]), least[job], most[job]);
            out->grant[count++] = grant;
        }
    out->count = count;
    return RATION_OK;
}

extern RATION_EXPORT const ration_policy ration_policy_v1;
ration_policy const ration_policy_v1 = {sizeof(ration_policy),
                                        RATION_F_DETERMINISTIC,
                                        &manifest,
                                        create,
                                        free,
                                        bind_columns,
                                        NULL,
                                        decide,
                                        NULL,
                                        NULL,
                                        NULL};
