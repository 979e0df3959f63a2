// SPDX-License-Identifier: BSL-1.0
/*
 * A job that computes for SECONDS and prints: SMs that the driver shows it, SMs of its green context (0: none),
 * multiply-adds a second. Driver API and PTX only: no toolkit is needed.
 *
 *     burn SECONDS
 *
 * With RATION_SM_SHARE it holds itself to a share (ration/cuda/sm_share.h). It ends when its standard input has ended
 * and its time is over, so that it can be inspected while it runs.
 */
#define _POSIX_C_SOURCE 199309L
#include <time.h>
#include <unistd.h>

#include <ration/cuda/sm_share.h>

static char const program_text[] =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry burn(.param .u64 out, .param .u32 rounds)\n"
    "{\n"
    "    .reg .pred %go_on;\n"
    "    .reg .f32 %a, %b, %c, %d, %k;\n"
    "    .reg .u32 %left, %thread, %block, %size;\n"
    "    .reg .u64 %to, %at;\n"
    "    ld.param.u64 %to, [out];\n"
    "    ld.param.u32 %left, [rounds];\n"
    "    mov.u32 %thread, %tid.x;\n"
    "    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %size, %ntid.x;\n"
    "    mad.lo.u32 %thread, %block, %size, %thread;\n"
    "    cvt.rn.f32.u32 %a, %thread;\n"
    "    mov.f32 %b, 0f3F800000;\n"
    "    mov.f32 %c, 0f3F000000;\n"
    "    mov.f32 %d, 0f3E800000;\n"
    "    mov.f32 %k, 0f3F7FFFFE;\n"
    "again:\n"
    "    fma.rn.f32 %a, %a, %k, %k;\n"
    "    fma.rn.f32 %b, %b, %k, %k;\n"
    "    fma.rn.f32 %c, %c, %k, %k;\n"
    "    fma.rn.f32 %d, %d, %k, %k;\n"
    "    sub.u32 %left, %left, 1;\n"
    "    setp.ne.u32 %go_on, %left, 0;\n"
    "    @%go_on bra again;\n"
    "    add.f32 %a, %a, %b;\n"
    "    add.f32 %c, %c, %d;\n"
    "    add.f32 %a, %a, %c;\n"
    "    mul.wide.u32 %at, %thread, 4;\n"
    "    add.u64 %at, %to, %at;\n"
    "    st.global.f32 [%at], %a;\n"
    "    ret;\n"
    "}\n";

enum { threads = 256, fma_per_round = 4, blocks_per_sm = 64 };

typedef unsigned long long address;

static struct {
    int (*init)(unsigned);
    int (*device_get)(int*, int);
    int (*attribute)(int*, int, int);
    int (*retain)(void**, int);
    int (*set_current)(void*);
    int (*load)(void**, void const*);
    int (*function)(void**, void*, char const*);
    int (*allocate)(address*, size_t);
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    int (*wait)(void);
} cuda;

static int load_driver(void) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != NULL && ration_sm_find_(library, "cuInit", &cuda.init) &&
           ration_sm_find_(library, "cuDeviceGet", &cuda.device_get) &&
           ration_sm_find_(library, "cuDeviceGetAttribute", &cuda.attribute) &&
           ration_sm_find_(library, "cuDevicePrimaryCtxRetain", &cuda.retain) &&
           ration_sm_find_(library, "cuCtxSetCurrent", &cuda.set_current) &&
           ration_sm_find_(library, "cuModuleLoadData", &cuda.load) &&
           ration_sm_find_(library, "cuModuleGetFunction", &cuda.function) &&
           ration_sm_find_(library, "cuMemAlloc_v2", &cuda.allocate) &&
           ration_sm_find_(library, "cuLaunchKernel", &cuda.launch) &&
           ration_sm_find_(library, "cuCtxSynchronize", &cuda.wait);
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 0, or the driver's code. The rounds of one launch are doubled until it takes 5 ms, and counting begins then. */
static int compute(unsigned blocks, double most, double* rate) {
    void *module = NULL, *function = NULL;
    address out = 0;
    unsigned rounds = 256;
    double begin = seconds_now(), done = 0;
    int error = cuda.load(&module, program_text);
    if (error == 0) error = cuda.function(&function, module, "burn");
    if (error == 0) error = cuda.allocate(&out, (size_t)blocks * threads * sizeof(float));
    while (error == 0 && seconds_now() - begin < most) {
        void* arguments[2];
        double const before = seconds_now();
        arguments[0] = &out;
        arguments[1] = &rounds;
        error = cuda.launch(function, blocks, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL);
        if (error == 0) error = cuda.wait();
        if (done == 0 && seconds_now() - before < 0.005 && rounds < 1u << 24) {
            rounds *= 2;
            begin = seconds_now();
            continue;
        }
        done += (double)blocks * threads * fma_per_round * rounds;
    }
    *rate = done / (seconds_now() - begin);
    return error;
}

int main(int argc, char** argv) {
    ration_sm_share share;
    void* context = NULL;
    int device = 0, shown = 0, error;
    double rate = 0;
    int state;
    alarm(120); /* if the driver hangs, this process ends and the script continues */
    state = ration_sm_share_begin(&share, 0);
    fprintf(stderr, "%s\n", share.message);
    if (!load_driver()) {
        fprintf(stderr, "burn: no NVIDIA driver is installed\n");
        return 77;
    }
    error = cuda.init(0);
    if (error == 0) error = cuda.device_get(&device, 0);
    if (error == 0) error = cuda.attribute(&shown, 16, device); /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
    if (error == 0 && state != RATION_SM_SHARE_HELD) error = cuda.retain(&context, device);
    if (error == 0 && state != RATION_SM_SHARE_HELD) error = cuda.set_current(context);
    if (error == 0) error = compute((unsigned)shown * blocks_per_sm, argc > 1 ? atof(argv[1]) : 2, &rate);
    if (error != 0) {
        fprintf(stderr, "burn: CUDA error %d\n", error);
        return 1;
    }
    printf("%d %u %.4g\n", shown, state == RATION_SM_SHARE_HELD ? share.granted : 0, rate);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    ration_sm_share_end(&share);
    return 0;
}
