// SPDX-License-Identifier: BSL-1.0
/* One tick, by hand: no host, no process, no clock. */
#include "policy.c"

static char const* names[COLUMNS] = {"jobs/state", "jobs/tier", "jobs/min.cpu", "jobs/max.cpu", "nodes/capacity.cpu"};

/* The columns that the policy reads, in the order of `slots`. */
static void describe(ration_column columns[COLUMNS]) {
    int i;
    memset(columns, 0, COLUMNS * sizeof *columns);
    for (i = 0; i < COLUMNS; ++i) {
        columns[i].name = names[i];
        columns[i].type = i <= TIER ? RATION_U32 : RATION_I64;
        columns[i].table = i == CAPACITY ? RATION_NODES : RATION_JOBS;
        columns[i].width = 1;
        columns[i].slot = (uint32_t)i;
    }
}

/* Creates a policy, binds it to the columns, and lets it decide once. Returns 0 after a sentence about a failure. */
static int decide_once(ration_schema const* schema, ration_tick const* tick, ration_out* out) {
    uint64_t scratch;
    void* self = NULL;
    char err[200] = "";
    int32_t status;

    if (create(NULL, "", 0, &self, err, sizeof err) != RATION_OK) {
        puts(err);
        return 0;
    }
    if (bind_columns(self, schema, &scratch, err, sizeof err) != RATION_OK) {
        puts(err);
        free(self);
        return 0;
    }
    status = decide(self, tick, out);
    free(self);
    if (status == RATION_OK) return 1;
    puts("decide did not answer");
    return 0;
}

/* Returns 0 after a sentence about a grant that is not as expected. */
static int grants_are(ration_out const* out, int64_t const* expected, uint64_t count) {
    uint64_t i;
    if (out->count != count) {
        printf("%lu grants, expected %lu: one for each job that runs\n", (unsigned long)out->count,
               (unsigned long)count);
        return 0;
    }
    for (i = 0; i < count; ++i)
        if (out->grant[i].amount != expected[out->grant[i].job]) {
            printf("job %lu: %ld millicores, expected %ld\n", (unsigned long)i, (long)out->grant[i].amount,
                   (long)expected[out->grant[i].job]);
            return 0;
        }
    return 1;
}

int main(void) {
    uint32_t const state[] = {RATION_RUNNING, RATION_RUNNING, RATION_QUEUED}, tier[] = {1, 0, 0};
    int64_t const least[] = {1, 1, 1}, most[] = {100000, 100000, 100000}, capacity[] = {3000};
    int64_t const expected[] = {1000, 2000};
    void const* slots[COLUMNS];
    ration_column columns[COLUMNS];
    ration_schema schema = {sizeof schema, COLUMNS, sizeof(ration_column), RATION_FIRST_CUSTOM, 3, 1, 3, NULL, 0, NULL};
    ration_table jobs = {sizeof jobs, COLUMNS, 3, NULL}, nodes = {sizeof nodes, COLUMNS, 1, NULL};
    ration_table const* tables[2];
    ration_tick tick = {.struct_size = sizeof tick, .n_tables = 2, .number = 1, .seed = 1};
    ration_grant grants[3];
    ration_out out = {sizeof out, 0, 3, 0, 0, NULL};

    slots[STATE] = state;
    slots[TIER] = tier;
    slots[LEAST] = least;
    slots[MOST] = most;
    slots[CAPACITY] = capacity;
    describe(columns);
    schema.column = columns;
    jobs.slot = slots;
    nodes.slot = slots;
    out.grant = grants;
    tables[RATION_JOBS] = &jobs;
    tables[RATION_NODES] = &nodes;
    tick.table = tables;
    return decide_once(&schema, &tick, &out) && grants_are(&out, expected, 2) ? 0 : 1;
}
