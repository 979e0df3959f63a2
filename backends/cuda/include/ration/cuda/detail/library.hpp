// SPDX-License-Identifier: BSL-1.0
/// A shared library of the driver, loaded when it is there. Nothing here is linked: a program that can use GPUs starts
/// on a machine that has none.
#pragma once

#include <cstring>
#include <dlfcn.h>
#include <memory>

#include <ration/result.hpp>

namespace ration::cuda {

class library {
    struct closer {
        void operator()(void* handle) const noexcept { ::dlclose(handle); }
    };
    std::unique_ptr<void, closer> handle_;

    explicit library(void* handle) noexcept : handle_(handle) {}

public:
    /// `name` is looked for where the system looks: LD_LIBRARY_PATH, then the places of ldconfig. Errors:
    /// `not_supported`.
    [[nodiscard]] static result<library> open(char const* name) noexcept {
        if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library(handle);
        return missing(name);
    }

    /// What `open` says of a library that is not there.
    [[nodiscard]] static error missing(char const* name) noexcept {
        return {.code = errc::not_supported,
                .operation = "load the NVIDIA driver",
                .subject = name,
                .remedy = "install the NVIDIA driver, or run jobs that need no GPU: nothing else is missing"};
    }

    /// A function of that name and type; nullptr when the library has none. A driver older than the function lacks it.
    template <class Function>
    [[nodiscard]] Function* find(char const* name) const noexcept {
        void* const address = ::dlsym(handle_.get(), name);
        Function* function = nullptr;
        static_assert(sizeof function == sizeof address);
        // The two kinds of pointers have no conversion in the language
        std::memcpy(&function, &address, sizeof function);
        return function;
    }
};

}  // namespace ration::cuda
