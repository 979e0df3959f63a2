// SPDX-License-Identifier: BSL-1.0
/* A job in C99 that holds itself to its share and prints what it got: state, granted, total, minimum, step, the
 * driver's code, how many green contexts there are then and after, the sentence. */
#include <ration/cuda/sm_share.h>

/* The fake's count of green contexts and its current context; -1 and 0 where the driver is another. */
static void probe(ration_sm_share const* s, int* contexts, int* is_current) {
    int (*count)(void) = NULL, (*get_current)(void**) = NULL;
    void *current = NULL, *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *contexts = -1;
    *is_current = 0;
    if (library == NULL) return;
    if (ration_sm_find_(library, "fake_driver_green_contexts", &count)) *contexts = count();
    if (ration_sm_find_(library, "cuCtxGetCurrent", &get_current)) get_current(&current);
    *is_current = current != NULL && current == s->context_;
    dlclose(library);
}

int main(int argc, char** argv) {
    ration_sm_share share;
    void* const kept = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* so that it can be looked at afterwards */
    int during = 0, after = 0, current = 0, nothing = 0;
    int const state = ration_sm_share_begin(&share, argc > 1 ? atoi(argv[1]) : 0);
    probe(&share, &during, &current);
    printf("%d %d %u %u %u %u %d\n", state, share.per_mille, share.granted, share.total, share.minimum, share.step,
           share.error);
    printf("%s\n", share.message);
    nothing = ration_sm_share_use(&share);
    ration_sm_share_end(&share);
    ration_sm_share_end(&share);
    probe(&share, &after, &nothing);
    printf("contexts %d, then %d; current %d\n", during, after, current);
    if (kept != NULL) dlclose(kept);
    return 0;
}
