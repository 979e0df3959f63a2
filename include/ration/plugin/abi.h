// SPDX-License-Identifier: BSL-1.0
/* The plugin ABI, major 1: a policy as one data symbol, `ration_policy_v1`, or an estimator as `ration_estimator_v1`. Plain C99 and all
 * later C and C++; needs <stddef.h> and <stdint.h> only. docs/plugin-abi.md is the reference: the rules of growth, threads, limits and what a host does with a bad plugin. */
#ifndef RATION_PLUGIN_ABI_H
#define RATION_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RATION_ABI_MAJOR 1u
#define RATION_ABI_MINOR 0u
#define RATION_ABI_MAGIC "RATION1"
#define RATION_ABI_SYMBOL "ration_policy_v1"
#define RATION_ABI_ESTIMATOR_SYMBOL "ration_estimator_v1"
#define RATION_ABI_SECTION "ration"
#define RATION_EXPORT __attribute__((visibility("default")))

#define RATION_MAX_AMOUNT (INT64_C(1) << 53) /* exact in a double, and 512 of them add up without overflow */
#define RATION_LEAST_CPU 10                  /* millicores: the smallest positive grant of RATION_CPU; 0 pauses the job */
#define RATION_UNLIMITED INT64_MAX           /* no limit, for a resource that does not come in whole units */
#define RATION_NO_SLOT 0xFFFFFFFFu           /* ration_column.slot of a column that this host does not offer */

/* Return values of functions. Anything else counts as RATION_E_INTERNAL. */
enum {
    RATION_OK = 0,
    RATION_E_CAPACITY = -1,    /* the space is too small: `needed` or `size` has the required size, nothing has changed */
    RATION_E_ARG = -2,         /* the text or the data passed in is wrong; `err` names the correction */
    RATION_E_STATE = -3,       /* a saved state of another policy or version */
    RATION_E_UNSUPPORTED = -4, /* a column or a feature is missing; `err` names it */
    RATION_E_NOMEM = -5,
    RATION_E_DEADLINE = -6, /* `cancel` was seen */
    RATION_E_EXCEPTION = -7,
    RATION_E_INTERNAL = -8
};

enum { RATION_JOBS = 0, RATION_NODES = 1, RATION_HELD = 2, RATION_TENANTS = 3 };         /* tables */
enum { RATION_U32 = 1, RATION_I64 = 2, RATION_U64 = 3, RATION_F32 = 4, RATION_F64 = 5 }; /* types of columns */
/* The standard resources; a host numbers its own from RATION_FIRST_CUSTOM on. */
enum {
    RATION_CPU = 0,    /* millicores */
    RATION_MEMORY = 1, /* bytes */
    RATION_GPU = 2,    /* whole devices */
    RATION_GPU_SM = 3, /* per-mille of a device */
    RATION_CACHE = 4,  /* bytes, shareable */
    RATION_BATCH = 5,  /* samples per step */
    RATION_FIRST_CUSTOM = 6
};
/* The values of jobs/state. */
enum { RATION_QUEUED = 0, RATION_RUNNING = 1, RATION_RESTARTING = 2, RATION_DONE = 3, RATION_FAILED = 4 };

enum {
    RATION_EV_JOB_ARRIVED = 1, /* id = jobs/id */
    RATION_EV_JOB_CHANGED = 2,
    RATION_EV_JOB_FINISHED = 3,
    RATION_EV_JOB_FAILED = 4,
    RATION_EV_NODE_UP = 16, /* id = row of the node */
    RATION_EV_NODE_DOWN = 17,
    RATION_EV_GRANT_APPLIED = 32,  /* id = jobs/id, a = node << 16 | resource, b = amount */
    RATION_EV_GRANT_REJECTED = 33, /* the same: it broke a rule */
    RATION_EV_GRANT_FAILED = 34,   /* the same: it could not be put into force, and what held before holds on */
    RATION_EV_STATE_LOST = 48      /* results of earlier calls are void: start again from the tables */
};

enum {
    RATION_F_DETERMINISTIC = 1,      /* the same calls give the same bytes */
    RATION_F_OWN_THREADS = 2,        /* has its own threads; they call [any thread] functions only */
    RATION_F_NO_UNLOAD = 4,          /* must stay loaded until the process ends */
    RATION_F_OUT_OF_PROCESS_ONLY = 8, /* must not share a process with the host */
    RATION_F_FOLLOWS_CHANGES = 16     /* goes by ration_tick.changes; without it, that is null */
};
enum { RATION_LOG_DEBUG = 0, RATION_LOG_INFO = 1, RATION_LOG_WARNING = 2, RATION_LOG_ERROR = 3 };

/* Functions that the host offers; valid until `destroy` returns. */
typedef struct ration_host {
    uint32_t struct_size, abi_minor;
    void *ctx;
    void (*log)(void *ctx, uint32_t level, const char *text, uint64_t length); /* [any thread] never blocks, copies */
    const void *(*extension)(void *ctx, const char *id);                       /* [any thread] NULL: not offered */
} ration_host;

typedef struct ration_column {
    const char *name;              /* "table/column", zero-terminated, at most 47 characters */
    uint32_t table, type;          /* RATION_JOBS ..., RATION_U32 ... */
    uint32_t width;                /* values per row, row-major; 1 for a scalar */
    uint32_t slot;                 /* index into ration_table.slot */
    uint32_t flags, reserved;      /* zero */
} ration_column;

/* The layout of the host's tables from now on; valid during `bind`. */
typedef struct ration_schema {
    uint32_t struct_size, n_columns, column_stride, n_resources; /* stride: bytes from one ration_column to the next */
    uint64_t max_jobs, max_nodes, max_grants;                    /* no tick will have more */
    const ration_column *column;
    uint64_t max_tenants;                                        /* as max_jobs, for RATION_TENANTS */
    const char *const *resource_name;                            /* n_resources zero-terminated names, by number; null: the standard ones */
} ration_schema;

/* Structure of arrays, read-only. */
typedef struct ration_table {
    uint32_t struct_size, n_slots;
    uint64_t n_rows;
    const void *const *slot; /* slot[k]: contiguous, 64-byte aligned, zero-padded to a multiple of 64 bytes */
} ration_table;

/* Columns of a row that change together: bits of ration_changes.groups. */
enum {
    RATION_C_PROGRESS = 1,    /* jobs: step, loss, remaining, attained and other measurements */
    RATION_C_STATE = 2,       /* jobs: state, tier, started, restarts */
    RATION_C_HELD = 4,        /* jobs/held.*, nodes/free.* */
    RATION_C_CAPACITY = 8,    /* nodes/capacity.*, nodes/type */
    RATION_C_DESCRIPTION = 16 /* all others: bounds, weights, targets, scaling */
};

/* The rows of a table that have changed since the last `decide` of this instance. */
typedef struct ration_changes {
    uint32_t struct_size;
    uint16_t everything;    /* 1: any row may have changed, and the list is empty */
    uint16_t moved;         /* 1: rows were removed and later ones moved up, in the same order; the list has the present numbers */
    uint64_t count;         /* entries; each row is listed once, in no particular order */
    const uint32_t *row, *groups;
    /* jobs/attained of the row is as of then, and grows by jobs/held.gpu a second; if the job holds devices, jobs/remaining
       falls by jobs/measured_steps_per_second from then on, which may be later; -1: as of now */
    const int64_t *at_ns;
} ration_changes;

/* Every pointer in it dies when `decide` returns. */
typedef struct ration_tick {
    uint32_t struct_size, n_tables;
    uint64_t number, seed;            /* seed: the only randomness a deterministic policy may use */
    int64_t now_ns, budget_ns;        /* now_ns: the only clock; virtual under simulation and replay */
    const uint32_t *cancel;           /* poll, relaxed; when not zero, return RATION_E_DEADLINE */
    const ration_table *const *table; /* indexed by RATION_JOBS, RATION_NODES, ... */
    void *scratch;                    /* 64-byte aligned, contents undefined, of the size asked for in `bind` */
    uint64_t scratch_size;
    const ration_changes *const *changes; /* indexed as `table`; null: any row of any table may have changed */
} ration_tick;

/* "Job holds `amount` of `resource` on `node` from now on." Idempotent; 0 releases; what is not mentioned stays. Frozen forever. */
typedef struct ration_grant {
    uint32_t job, node;        /* rows of this tick's tables */
    uint16_t resource, reason; /* RATION_CPU, ...; an index into the manifest's `reasons` */
    uint32_t group;            /* the rows of one job, or of one non-zero group, are applied all or none */
    int64_t amount;            /* 0 to RATION_MAX_AMOUNT, or RATION_UNLIMITED */
} ration_grant;

typedef struct ration_out {
    uint32_t struct_size, flags;      /* flags: zero */
    uint64_t capacity, count, needed; /* too small: set `needed`, return RATION_E_CAPACITY, change nothing else */
    ration_grant *grant;
} ration_out;

/* The target of a host's `extension("ration.changed-rows/1")`, if it offers that; valid until `destroy` returns. Such a host gives every
   `decide` the same `ration_out.grant`, with the rows of the last one. A plugin that uses this does not write a row again that is there already, and
   lists the rows that it did write, in `row`, as long as they are at most `capacity`, with their number in `*count`; `capacity` may change from call
   to call. The host sets `*count` to UINT64_MAX before the call: more than `capacity` means that any row may have changed.
   Where the host offers `written`, by `struct_size`, and it is not null, a plugin whose list is full may store there, with release order, how many rows
   in front it will not write to any more in this call, so that the host can fetch them meanwhile; and UINT64_MAX, and nothing more, when it writes to
   them after all. The host sets it to 0 before the call. */
#define RATION_EXT_CHANGED_ROWS "ration.changed-rows/1"
typedef struct ration_changed_rows {
    uint32_t struct_size, reserved; /* reserved: zero */
    uint64_t capacity;
    uint64_t *count;
    uint32_t *row;
    uint64_t *written;
} ration_changed_rows;

/* Frozen forever; read with the stride that comes with it. */
typedef struct ration_event {
    uint32_t kind, row; /* row: of the tables of the last tick, RATION_NO_SLOT when there is none */
    uint64_t id;
    int64_t t_ns, a, b;
} ration_event;

/* In section "ration" of the file: no pointers, so it is read before any code of the plugin runs. Texts end with a zero byte. */
typedef struct ration_manifest {
    char magic[8]; /* RATION_ABI_MAGIC */
    uint32_t struct_size, abi_minor_needed, layout, flags;
    char id[64];           /* reverse domain name: "org.example.give-one" */
    char name[64];         /* a short name, for people */
    char version[32];      /* semantic version */
    char vendor[64];       /* who vouches for it */
    char license[32];      /* SPDX */
    char summary[128];     /* one line */
    char needs[1024];      /* lines "table/column type", where type is u32 i64 u64 f32 f64, followed by [] for a vector */
    char extensions[256];  /* lines: ids of extensions that it cannot do without */
    char reasons[1024];    /* lines: line k has the meaning of reason k of a grant */
    char parameters[3072]; /* JSON schema of the config text, or empty when it takes none */
    char computes[512];    /* lines "jobs/column type", without []: the columns that an estimator computes; empty in a policy */
} ration_manifest;

/* THE entry symbol: RATION_EXPORT const ration_policy ration_policy_v1. */
typedef struct ration_policy {
    uint32_t struct_size, flags;     /* flags: those of the manifest */
    const ration_manifest *manifest; /* keeps the section alive; the host compares it with the bytes in the file */
    /* [control]: never at once with anything else on the same instance. `err` gets a zero-terminated sentence. */
    int32_t (*create)(const ration_host *host, const char *config, uint64_t config_length, void **self, char *err, uint64_t err_size);
    void (*destroy)(void *self);
    int32_t (*bind)(void *self, const ration_schema *schema, uint64_t *scratch_size, char *err, uint64_t err_size);
    /* [tick]: one at a time on an instance; the thread may change. May be NULL. */
    int32_t (*on_event)(void *self, const ration_event *events, uint64_t count, uint32_t stride);
    /* [tick]: no allocation, no I/O. May be called again for the same tick: the answer is the same, and so are those to later ticks.
       `on_event`, once, and the columns report the outcome of an answer. */
    int32_t (*decide)(void *self, const ration_tick *tick, ration_out *out);
    /* [control]: both or neither. `*size` is what is needed, also when `capacity` is too small. */
    int32_t (*save)(void *self, void *buffer, uint64_t capacity, uint64_t *size);
    int32_t (*load)(void *self, const void *buffer, uint64_t size);
    const void *(*extension)(void *self, const char *id); /* [any thread] may be NULL */
} ration_policy;

/* The columns that an estimator writes; valid until `estimate` returns. */
typedef struct ration_estimates {
    uint32_t struct_size, n_columns; /* n_columns: the lines of the manifest's `computes`, in their order */
    uint64_t n_rows;                 /* those of RATION_JOBS */
    void *const *column;             /* column[k]: a value for each row, on a multiple of 8 bytes, zero before the call */
} ration_estimates;

/* The entry symbol of an estimator: RATION_EXPORT const ration_estimator ration_estimator_v1. Functions named as in ration_policy are
   the same. */
typedef struct ration_estimator {
    uint32_t struct_size, flags;
    const ration_manifest *manifest;
    int32_t (*create)(const ration_host *host, const char *config, uint64_t config_length, void **self, char *err, uint64_t err_size);
    void (*destroy)(void *self);
    int32_t (*bind)(void *self, const ration_schema *schema, uint64_t *scratch_size, char *err, uint64_t err_size);
    /* [tick]: no allocation, no I/O. Writes each row of each column; what is unknown is NaN. May be called again for the same tick: the
       values are the same, and so are those of later ticks. */
    int32_t (*estimate)(void *self, const ration_tick *tick, const ration_estimates *out);
    int32_t (*save)(void *self, void *buffer, uint64_t capacity, uint64_t *size);
    int32_t (*load)(void *self, const void *buffer, uint64_t size);
} ration_estimator;

#define RATION_LAYOUT                                                                                                    \
    ((uint32_t)(sizeof(void *) | sizeof(ration_grant) << 8 | sizeof(ration_event) << 16 | offsetof(ration_policy, decide) << 24))
#define RATION_MANIFEST static const ration_manifest __attribute__((section(RATION_ABI_SECTION), used))

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus)
#define RATION_FROZEN(condition) static_assert(condition, "ABI change: " #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define RATION_FROZEN(condition) _Static_assert(condition, "ABI change: " #condition)
#else
#define RATION_FROZEN(condition) extern const char ration_abi_change[(condition) ? 1 : -1]
#endif
#define RATION_FROZEN_FIELD(type, field, offset, size) \
    RATION_FROZEN(sizeof(void *) != 8 || (offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size)))
/* tests/plugin/abi_lock.py writes the rest. */
RATION_FROZEN_FIELD(ration_host, struct_size, 0, 4); RATION_FROZEN_FIELD(ration_host, abi_minor, 4, 4);
RATION_FROZEN_FIELD(ration_host, ctx, 8, 8); RATION_FROZEN_FIELD(ration_host, log, 16, 8);
RATION_FROZEN_FIELD(ration_host, extension, 24, 8); RATION_FROZEN_FIELD(ration_column, name, 0, 8);
RATION_FROZEN_FIELD(ration_column, table, 8, 4); RATION_FROZEN_FIELD(ration_column, type, 12, 4);
RATION_FROZEN_FIELD(ration_column, width, 16, 4); RATION_FROZEN_FIELD(ration_column, slot, 20, 4);
RATION_FROZEN_FIELD(ration_column, flags, 24, 4); RATION_FROZEN_FIELD(ration_column, reserved, 28, 4);
RATION_FROZEN_FIELD(ration_schema, struct_size, 0, 4); RATION_FROZEN_FIELD(ration_schema, n_columns, 4, 4);
RATION_FROZEN_FIELD(ration_schema, column_stride, 8, 4); RATION_FROZEN_FIELD(ration_schema, n_resources, 12, 4);
RATION_FROZEN_FIELD(ration_schema, max_jobs, 16, 8); RATION_FROZEN_FIELD(ration_schema, max_nodes, 24, 8);
RATION_FROZEN_FIELD(ration_schema, max_grants, 32, 8); RATION_FROZEN_FIELD(ration_schema, column, 40, 8);
RATION_FROZEN_FIELD(ration_schema, max_tenants, 48, 8); RATION_FROZEN_FIELD(ration_schema, resource_name, 56, 8);
RATION_FROZEN_FIELD(ration_table, struct_size, 0, 4); RATION_FROZEN_FIELD(ration_table, n_slots, 4, 4);
RATION_FROZEN_FIELD(ration_table, n_rows, 8, 8); RATION_FROZEN_FIELD(ration_table, slot, 16, 8);
RATION_FROZEN_FIELD(ration_changes, struct_size, 0, 4); RATION_FROZEN_FIELD(ration_changes, everything, 4, 2);
RATION_FROZEN_FIELD(ration_changes, moved, 6, 2); RATION_FROZEN_FIELD(ration_changes, count, 8, 8);
RATION_FROZEN_FIELD(ration_changes, row, 16, 8); RATION_FROZEN_FIELD(ration_changes, groups, 24, 8);
RATION_FROZEN_FIELD(ration_changes, at_ns, 32, 8); RATION_FROZEN_FIELD(ration_tick, struct_size, 0, 4);
RATION_FROZEN_FIELD(ration_tick, n_tables, 4, 4); RATION_FROZEN_FIELD(ration_tick, number, 8, 8);
RATION_FROZEN_FIELD(ration_tick, seed, 16, 8); RATION_FROZEN_FIELD(ration_tick, now_ns, 24, 8);
RATION_FROZEN_FIELD(ration_tick, budget_ns, 32, 8); RATION_FROZEN_FIELD(ration_tick, cancel, 40, 8);
RATION_FROZEN_FIELD(ration_tick, table, 48, 8); RATION_FROZEN_FIELD(ration_tick, scratch, 56, 8);
RATION_FROZEN_FIELD(ration_tick, scratch_size, 64, 8); RATION_FROZEN_FIELD(ration_tick, changes, 72, 8);
RATION_FROZEN(sizeof(ration_grant) == 24); RATION_FROZEN_FIELD(ration_grant, job, 0, 4);
RATION_FROZEN_FIELD(ration_grant, node, 4, 4); RATION_FROZEN_FIELD(ration_grant, resource, 8, 2);
RATION_FROZEN_FIELD(ration_grant, reason, 10, 2); RATION_FROZEN_FIELD(ration_grant, group, 12, 4);
RATION_FROZEN_FIELD(ration_grant, amount, 16, 8); RATION_FROZEN_FIELD(ration_out, struct_size, 0, 4);
RATION_FROZEN_FIELD(ration_out, flags, 4, 4); RATION_FROZEN_FIELD(ration_out, capacity, 8, 8);
RATION_FROZEN_FIELD(ration_out, count, 16, 8); RATION_FROZEN_FIELD(ration_out, needed, 24, 8);
RATION_FROZEN_FIELD(ration_out, grant, 32, 8); RATION_FROZEN_FIELD(ration_changed_rows, struct_size, 0, 4);
RATION_FROZEN_FIELD(ration_changed_rows, reserved, 4, 4); RATION_FROZEN_FIELD(ration_changed_rows, capacity, 8, 8);
RATION_FROZEN_FIELD(ration_changed_rows, count, 16, 8); RATION_FROZEN_FIELD(ration_changed_rows, row, 24, 8);
RATION_FROZEN_FIELD(ration_changed_rows, written, 32, 8); RATION_FROZEN(sizeof(ration_event) == 40);
RATION_FROZEN_FIELD(ration_event, kind, 0, 4); RATION_FROZEN_FIELD(ration_event, row, 4, 4);
RATION_FROZEN_FIELD(ration_event, id, 8, 8); RATION_FROZEN_FIELD(ration_event, t_ns, 16, 8);
RATION_FROZEN_FIELD(ration_event, a, 24, 8); RATION_FROZEN_FIELD(ration_event, b, 32, 8);
RATION_FROZEN_FIELD(ration_manifest, magic, 0, 8); RATION_FROZEN_FIELD(ration_manifest, struct_size, 8, 4);
RATION_FROZEN_FIELD(ration_manifest, abi_minor_needed, 12, 4); RATION_FROZEN_FIELD(ration_manifest, layout, 16, 4);
RATION_FROZEN_FIELD(ration_manifest, flags, 20, 4); RATION_FROZEN_FIELD(ration_manifest, id, 24, 64);
RATION_FROZEN_FIELD(ration_manifest, name, 88, 64); RATION_FROZEN_FIELD(ration_manifest, version, 152, 32);
RATION_FROZEN_FIELD(ration_manifest, vendor, 184, 64); RATION_FROZEN_FIELD(ration_manifest, license, 248, 32);
RATION_FROZEN_FIELD(ration_manifest, summary, 280, 128); RATION_FROZEN_FIELD(ration_manifest, needs, 408, 1024);
RATION_FROZEN_FIELD(ration_manifest, extensions, 1432, 256); RATION_FROZEN_FIELD(ration_manifest, reasons, 1688, 1024);
RATION_FROZEN_FIELD(ration_manifest, parameters, 2712, 3072); RATION_FROZEN_FIELD(ration_manifest, computes, 5784, 512);
RATION_FROZEN_FIELD(ration_policy, struct_size, 0, 4); RATION_FROZEN_FIELD(ration_policy, flags, 4, 4);
RATION_FROZEN_FIELD(ration_policy, manifest, 8, 8); RATION_FROZEN_FIELD(ration_policy, create, 16, 8);
RATION_FROZEN_FIELD(ration_policy, destroy, 24, 8); RATION_FROZEN_FIELD(ration_policy, bind, 32, 8);
RATION_FROZEN_FIELD(ration_policy, on_event, 40, 8); RATION_FROZEN_FIELD(ration_policy, decide, 48, 8);
RATION_FROZEN_FIELD(ration_policy, save, 56, 8); RATION_FROZEN_FIELD(ration_policy, load, 64, 8);
RATION_FROZEN_FIELD(ration_policy, extension, 72, 8); RATION_FROZEN_FIELD(ration_estimates, struct_size, 0, 4);
RATION_FROZEN_FIELD(ration_estimates, n_columns, 4, 4); RATION_FROZEN_FIELD(ration_estimates, n_rows, 8, 8);
RATION_FROZEN_FIELD(ration_estimates, column, 16, 8); RATION_FROZEN_FIELD(ration_estimator, struct_size, 0, 4);
RATION_FROZEN_FIELD(ration_estimator, flags, 4, 4); RATION_FROZEN_FIELD(ration_estimator, manifest, 8, 8);
RATION_FROZEN_FIELD(ration_estimator, create, 16, 8); RATION_FROZEN_FIELD(ration_estimator, destroy, 24, 8);
RATION_FROZEN_FIELD(ration_estimator, bind, 32, 8); RATION_FROZEN_FIELD(ration_estimator, estimate, 40, 8);
RATION_FROZEN_FIELD(ration_estimator, save, 48, 8); RATION_FROZEN_FIELD(ration_estimator, load, 56, 8);
RATION_FROZEN(RATION_ABI_MAJOR == 1); RATION_FROZEN(RATION_MAX_AMOUNT == 9007199254740992);
RATION_FROZEN(RATION_LEAST_CPU == 10); RATION_FROZEN(RATION_UNLIMITED == 9223372036854775807);
RATION_FROZEN(RATION_NO_SLOT == 4294967295); RATION_FROZEN(RATION_OK == 0);
RATION_FROZEN(RATION_E_CAPACITY == -1); RATION_FROZEN(RATION_E_ARG == -2);
RATION_FROZEN(RATION_E_STATE == -3); RATION_FROZEN(RATION_E_UNSUPPORTED == -4);
RATION_FROZEN(RATION_E_NOMEM == -5); RATION_FROZEN(RATION_E_DEADLINE == -6);
RATION_FROZEN(RATION_E_EXCEPTION == -7); RATION_FROZEN(RATION_E_INTERNAL == -8);
RATION_FROZEN(RATION_JOBS == 0); RATION_FROZEN(RATION_NODES == 1);
RATION_FROZEN(RATION_HELD == 2); RATION_FROZEN(RATION_TENANTS == 3);
RATION_FROZEN(RATION_U32 == 1); RATION_FROZEN(RATION_I64 == 2);
RATION_FROZEN(RATION_U64 == 3); RATION_FROZEN(RATION_F32 == 4);
RATION_FROZEN(RATION_F64 == 5); RATION_FROZEN(RATION_CPU == 0);
RATION_FROZEN(RATION_MEMORY == 1); RATION_FROZEN(RATION_GPU == 2);
RATION_FROZEN(RATION_GPU_SM == 3); RATION_FROZEN(RATION_CACHE == 4);
RATION_FROZEN(RATION_BATCH == 5); RATION_FROZEN(RATION_FIRST_CUSTOM == 6);
RATION_FROZEN(RATION_QUEUED == 0); RATION_FROZEN(RATION_RUNNING == 1);
RATION_FROZEN(RATION_RESTARTING == 2); RATION_FROZEN(RATION_DONE == 3);
RATION_FROZEN(RATION_FAILED == 4); RATION_FROZEN(RATION_EV_JOB_ARRIVED == 1);
RATION_FROZEN(RATION_EV_JOB_CHANGED == 2); RATION_FROZEN(RATION_EV_JOB_FINISHED == 3);
RATION_FROZEN(RATION_EV_JOB_FAILED == 4); RATION_FROZEN(RATION_EV_NODE_UP == 16);
RATION_FROZEN(RATION_EV_NODE_DOWN == 17); RATION_FROZEN(RATION_EV_GRANT_APPLIED == 32);
RATION_FROZEN(RATION_EV_GRANT_REJECTED == 33); RATION_FROZEN(RATION_EV_GRANT_FAILED == 34);
RATION_FROZEN(RATION_EV_STATE_LOST == 48); RATION_FROZEN(RATION_F_DETERMINISTIC == 1);
RATION_FROZEN(RATION_F_OWN_THREADS == 2); RATION_FROZEN(RATION_F_NO_UNLOAD == 4);
RATION_FROZEN(RATION_F_OUT_OF_PROCESS_ONLY == 8); RATION_FROZEN(RATION_F_FOLLOWS_CHANGES == 16);
RATION_FROZEN(RATION_LOG_DEBUG == 0); RATION_FROZEN(RATION_LOG_INFO == 1);
RATION_FROZEN(RATION_LOG_WARNING == 2); RATION_FROZEN(RATION_LOG_ERROR == 3);
RATION_FROZEN(RATION_C_PROGRESS == 1); RATION_FROZEN(RATION_C_STATE == 2);
RATION_FROZEN(RATION_C_HELD == 4); RATION_FROZEN(RATION_C_CAPACITY == 8);
RATION_FROZEN(RATION_C_DESCRIPTION == 16); RATION_FROZEN(sizeof(RATION_ABI_MAGIC) == 8);
RATION_FROZEN(sizeof(RATION_ABI_SYMBOL) == 17); RATION_FROZEN(sizeof(RATION_ABI_ESTIMATOR_SYMBOL) == 20);
RATION_FROZEN(sizeof(RATION_ABI_SECTION) == 7); RATION_FROZEN(sizeof(RATION_EXT_CHANGED_ROWS) == 22);
RATION_FROZEN(sizeof(void *) != 8 || RATION_LAYOUT == 807933960);
/* End of what is written. */
#undef RATION_FROZEN
#undef RATION_FROZEN_FIELD

#endif
