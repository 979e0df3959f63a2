// SPDX-License-Identifier: BSL-1.0
/* One tick, by hand: no host, no process, no clock. */
#include "policy.c"

static char const* names[COLUMNS] = {"jobs/state", "jobs/tier", "jobs/min.cpu", "jobs/max.cpu", "nodes/capacity.cpu"};

int main(void) {
    uint32_t const state[] = {RATION_RUNNING, RATION_RUNNING, RATION_QUEUED}, tier[] = {1, 0, 0};
    int64_t const least[] = {1, 1, 1}, most[] = {100000, 100000, 100000}, capacity[] = {3000};
    int64_t const expected[] = {1000, 2000};
    void const* slots[COLUMNS];
    ration_column columns[COLUMNS];
    ration_schema schema = {sizeof schema, COLUMNS, sizeof(ration_column), RATION_FIRST_CUSTOM, 3, 1, 3, NULL};
    ration_table jobs = {sizeof jobs, COLUMNS, 3, NULL}, nodes = {sizeof nodes, COLUMNS, 1, NULL};
    ration_table const* tables[2];
    ration_tick tick = {sizeof tick, 2, 1, 1, 0, 0, NULL, NULL, NULL, 0};
    ration_grant grants[3];
    ration_out out = {sizeof out, 0, 3, 0, 0, NULL};
    uint64_t scratch, i;
    void* self = NULL;
    char err[200];

    slots[STATE] = state;
    slots[TIER] = tier;
    slots[LEAST] = least;
    slots[MOST] = most;
    slots[CAPACITY] = capacity;
    memset(columns, 0, sizeof columns);
    for (i = 0; i < COLUMNS; ++i) {
        columns[i].name = names[i];
        columns[i].type = i <= TIER ? RATION_U32 : RATION_I64;
        columns[i].table = i == CAPACITY ? RATION_NODES : RATION_JOBS;
        columns[i].width = 1;
        columns[i].slot = (uint32_t)i;
    }
    schema.column = columns;
    jobs.slot = slots;
    nodes.slot = slots;
    out.grant = grants;
    tables[RATION_JOBS] = &jobs;
    tables[RATION_NODES] = &nodes;
    tick.table = tables;

    if (create(NULL, "", 0, &self, err, sizeof err) != RATION_OK) {
        puts(err);
        return 1;
    }
    if (bind_columns(self, &schema, &scratch, err, sizeof err) != RATION_OK) {
        puts(err);
        return 1;
    }
    if (decide(self, &tick, &out) != RATION_OK || out.count != 2) {
        puts("decide gave no answer, or another one than a grant for each of the two jobs that run");
        return 1;
    }
    free(self);
    for (i = 0; i < out.count; ++i)
        if (grants[i].amount != expected[grants[i].job]) {
            printf("job %lu: %ld millicores, expected %ld\n", (unsigned long)i, (long)grants[i].amount,
                   (long)expected[grants[i].job]);
            return 1;
        }
    return 0;
}
