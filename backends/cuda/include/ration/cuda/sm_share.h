// SPDX-License-Identifier: BSL-1.0
/*
 * Limits a job to its share of a GPU: RATION_SM_SHARE (per mille) becomes a green context with that share of the SMs.
 * For jobs in C99 and C++; nothing is linked.
 *
 *     ration_sm_share share;
 *     ration_sm_share_begin(&share, 0);                      // device 0 of those in CUDA_VISIBLE_DEVICES
 *     puts(share.message);                                    // the SMs of the job, or the reason for all SMs
 *     ...                                                     // kernels that this thread launches use those SMs
 *     ration_sm_share_end(&share);
 *
 * Call it before any other use of CUDA in the thread; the runtime and its libraries then use the current context. A
 * share is rounded down to a size that the architecture supports, and up to the smallest one. It applies to this
 * process from here on: a new share needs a new process. It is cooperative: no other process can enforce it, memory
 * bandwidth and caches are not divided, and two processes may get the same SMs. Without RATION_SM_SHARE, with a share
 * of 1000, or with a driver that lacks green contexts, the job runs on all SMs, and `message` has the reason. Source:
 * CUDA Driver API reference, Green Contexts (CUDA 12.4 and later).
 */
#ifndef RATION_CUDA_SM_SHARE_H
#define RATION_CUDA_SM_SHARE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RATION_SM_SHARE_WHOLE = 0,   /* all SMs: no smaller share was requested */
    RATION_SM_SHARE_HELD = 1,    /* the context of the share is current in this thread */
    RATION_SM_SHARE_REFUSED = -1 /* all SMs, although less was requested: see `message` */
};

/* The share of one job; filled by ration_sm_share_begin. */
typedef struct ration_sm_share {
    int state;     /* one of the above */
    int per_mille; /* requested; 1000 without a request */
    unsigned total, granted, minimum,
        step;  /* SMs: of the device, of this job, the smallest part, and the step of larger parts; 0 = unknown */
    int error; /* the driver's code, or 0 */
    char message[160]; /* one sentence */
    void *library_, *green_, *context_;
} ration_sm_share;

/* CUdevResource as of CUDA 12.4: 144 bytes, of which the type and the SMs are used here. */
typedef struct ration_sm_resource_ {
    int type;
    unsigned char reserved[92];
    unsigned count, minimum, step; /* the last two only since CUDA 13.0 */
    unsigned char rest[36];
} ration_sm_resource_;

typedef char ration_sm_resource_has_144_bytes_[sizeof(ration_sm_resource_) == 144 ? 1 : -1];

/* The functions of the driver that are used. */
typedef struct ration_sm_driver_ {
    int (*init)(unsigned);
    int (*device_get)(int*, int);
    int (*attribute)(int*, int, int);
    int (*resource_of)(int, ration_sm_resource_*, int);
    int (*split)(ration_sm_resource_*, unsigned*, ration_sm_resource_ const*, ration_sm_resource_*, unsigned, unsigned);
    int (*describe)(void**, ration_sm_resource_*, unsigned);
    int (*create)(void**, void*, int, unsigned);
    int (*destroy)(void*);
    int (*context_of)(void**, void*);
    int (*set_current)(void*);
} ration_sm_driver_;

/* Returns 1 if the library has the function. C has no conversion between pointers to data and to functions. */
static inline int ration_sm_find_(void* library, char const* name, void* function) {
    void* const address = dlsym(library, name);
    memcpy(function, (void const*)&address, sizeof address);
    return address != NULL;
}

/* Loads the driver. Returns 0 if it, or one of the functions, is missing. */
static inline int ration_sm_load_(ration_sm_share* s, ration_sm_driver_* d) {
    s->library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return s->library_ != NULL && ration_sm_find_(s->library_, "cuInit", (void*)&d->init) &&
           ration_sm_find_(s->library_, "cuDeviceGet", (void*)&d->device_get) &&
           ration_sm_find_(s->library_, "cuDeviceGetAttribute", (void*)&d->attribute) &&
           ration_sm_find_(s->library_, "cuDeviceGetDevResource", (void*)&d->resource_of) &&
           ration_sm_find_(s->library_, "cuDevSmResourceSplitByCount", (void*)&d->split) &&
           ration_sm_find_(s->library_, "cuDevResourceGenerateDesc", (void*)&d->describe) &&
           ration_sm_find_(s->library_, "cuGreenCtxCreate", (void*)&d->create) &&
           ration_sm_find_(s->library_, "cuGreenCtxDestroy", (void*)&d->destroy) &&
           ration_sm_find_(s->library_, "cuCtxFromGreenCtx", (void*)&d->context_of) &&
           ration_sm_find_(s->library_, "cuCtxSetCurrent", (void*)&d->set_current);
}

/* Parses a number from 1 to 1000; returns 0 for any other text. */
static inline int ration_sm_per_mille_(char const* text) {
    int value = 0;
    if (*text == '\0') return 0;
    for (; *text != '\0'; ++text) {
        if (*text < '0' || *text > '9' || value > 1000) return 0;
        value = value * 10 + (*text - '0');
    }
    return value <= 1000 ? value : 0;
}

/* Rounds down to a whole number of steps, and up to the smallest part. If the driver does not report these, they are
 * those of the documentation, by compute capability: 7.x 2 and 2, 8.x 4 and 2, 9.0 and later 8 and 8. */
static inline unsigned ration_sm_round_(ration_sm_share* s, int major) {
    unsigned wanted = (unsigned)((unsigned long long)s->total * (unsigned)s->per_mille / 1000u);
    if (s->minimum == 0) s->minimum = major >= 9 ? 8u : major == 8 ? 4u : 2u;
    if (s->step == 0) s->step = major >= 9 ? 8u : 2u;
    wanted -= wanted % s->step;
    return wanted < s->minimum ? s->minimum : wanted;
}

/* Records the reason why the job uses all SMs. */
static inline int ration_sm_refuse_(ration_sm_share* s, char const* why, int error) {
    s->state = RATION_SM_SHARE_REFUSED;
    s->error = error;
    s->granted = s->total;
    if (error != 0)
        snprintf(s->message, sizeof s->message, "ration: this job uses all SMs: %s (CUDA error %d)", why, error);
    else
        snprintf(s->message, sizeof s->message, "ration: this job uses all SMs: %s", why);
    return s->state;
}

/* Creates a group of `wanted` SMs, and makes its context current in this thread. Returns 0, or the driver's code. */
static inline int ration_sm_cut_(ration_sm_share* s, ration_sm_driver_ const* d, int device,
                                 ration_sm_resource_ const* all, unsigned wanted) {
    ration_sm_resource_ part;
    unsigned groups = 1;
    void* description = NULL;
    int error;
    memset(&part, 0, sizeof part);
    error = d->split(&part, &groups, all, NULL, 0, wanted);
    if (error == 0 && groups != 1) error = 915; /* CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION */
    if (error == 0) error = d->describe(&description, &part, 1);
    if (error == 0) error = d->create(&s->green_, description, device, 1); /* CU_GREEN_CTX_DEFAULT_STREAM */
    if (error == 0) error = d->context_of(&s->context_, s->green_);
    if (error == 0) error = d->set_current(s->context_);
    if (error == 0) s->granted = part.count;
    if (error != 0 && s->green_ != NULL) {
        d->destroy(s->green_);
        s->green_ = s->context_ = NULL;
    }
    return error;
}

/* Reads the device, then creates the share. Returns `state`. */
static inline int ration_sm_take_(ration_sm_share* s, ration_sm_driver_ const* d, int ordinal) {
    ration_sm_resource_ all;
    int device = 0, major = 0, error;
    unsigned wanted;
    memset(&all, 0, sizeof all);
    error = d->init(0);
    if (error == 0) error = d->device_get(&device, ordinal);
    if (error == 0) error = d->attribute(&major, 75, device); /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
    if (error == 0) error = d->resource_of(device, &all, 1);  /* CU_DEV_RESOURCE_TYPE_SM */
    if (error != 0) return ration_sm_refuse_(s, "the driver does not show the device", error);
    s->total = s->granted = all.count;
    s->minimum = all.minimum;
    s->step = all.step;
    wanted = ration_sm_round_(s, major);
    if (wanted >= s->total) return ration_sm_refuse_(s, "the device cannot be cut into so large a part", 0);
    error = ration_sm_cut_(s, d, device, &all, wanted);
    if (error != 0) return ration_sm_refuse_(s, "the driver does not give a green context", error);
    s->state = RATION_SM_SHARE_HELD;
    snprintf(s->message, sizeof s->message, "ration: this job uses %u of %u SMs, for a share of %d per mille",
             s->granted, s->total, s->per_mille);
    return s->state;
}

/* Creates the share of device `ordinal`, and makes its context current in this thread. Returns `state`. */
static inline int ration_sm_share_begin(ration_sm_share* s, int ordinal) {
    ration_sm_driver_ driver;
    char const* const asked = getenv("RATION_SM_SHARE");
    memset(s, 0, sizeof *s);
    memset(&driver, 0, sizeof driver);
    s->per_mille = 1000;
    snprintf(s->message, sizeof s->message, "ration: this job uses all SMs: no share was asked for");
    if (asked == NULL) return s->state;
    s->per_mille = ration_sm_per_mille_(asked);
    if (s->per_mille == 1000) return s->state;
    if (s->per_mille == 0) return ration_sm_refuse_(s, "RATION_SM_SHARE is not a number from 1 to 1000", 0);
    if (!ration_sm_load_(s, &driver))
        return ration_sm_refuse_(s,
                                 s->library_ == NULL ? "no NVIDIA driver is installed"
                                                     : "the driver has no green contexts: CUDA 12.4 or later is needed",
                                 0);
    return ration_sm_take_(s, &driver, ordinal);
}

/* Makes the context of the share current in another thread. It can be current in one thread at a time, so threads
 * have to take turns. Returns 0, or the driver's code. */
static inline int ration_sm_share_use(ration_sm_share const* s) {
    int (*set_current)(void*) = NULL;
    if (s->state != RATION_SM_SHARE_HELD || !ration_sm_find_(s->library_, "cuCtxSetCurrent", (void*)&set_current))
        return 0;
    return set_current(s->context_);
}

/* Releases the share, and the memory that was allocated in its context. */
static inline void ration_sm_share_end(ration_sm_share* s) {
    int (*set_current)(void*) = NULL, (*destroy)(void*) = NULL;
    if (s->state == RATION_SM_SHARE_HELD && ration_sm_find_(s->library_, "cuCtxSetCurrent", (void*)&set_current) &&
        ration_sm_find_(s->library_, "cuGreenCtxDestroy", (void*)&destroy)) {
        set_current(NULL);
        destroy(s->green_);
    }
    if (s->library_ != NULL) dlclose(s->library_);
    s->library_ = s->green_ = s->context_ = NULL;
    s->state = RATION_SM_SHARE_WHOLE;
}

#endif
