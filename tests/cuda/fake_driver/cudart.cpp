// SPDX-License-Identifier: BSL-1.0
// A libcudart.so.13 that returns what the script contains (script.hpp). Like the real one it does not change the count
// when it fails.
#include "script.hpp"

using ration::fake_driver::read_script;

extern "C" {

int cudaRuntimeGetVersion(int* version) {
    *version = read_script().runtime;
    return 0;
}

int cudaDriverGetVersion(int* version) {
    *version = read_script().runtime_sees;
    return 0;
}

int cudaGetDeviceCount(int* count) {
    auto const machine = read_script();
    if (machine.runtime_code == 0) *count = static_cast<int>(machine.gpus.size());
    return machine.runtime_code;
}

}  // extern "C"
