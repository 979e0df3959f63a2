// SPDX-License-Identifier: BSL-1.0
/// A shared library of the driver, loaded at run time if it exists. Nothing is linked, so a program
/// that can use GPUs also starts on a machine without a driver.
#pragma once

#include <bit>
#include <dlfcn.h>
#include <memory>

#include <ration/result.hpp>

namespace ration::cuda {

/// A loaded library. Move-only.
class library {
    struct closer {
        void operator()(void* handle) const noexcept { ::dlclose(handle); }
    };
    std::unique_ptr<void, closer> handle_;

    explicit library(void* handle) noexcept : handle_(handle) {}

public:
    /// Loads a library. `name` is searched in LD_LIBRARY_PATH and in the folders of ldconfig.
    /// Error: `not_supported`.
    [[nodiscard]] static result<library> open(char const* name) noexcept {
        if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library(handle);
        return missing(name);
    }

    /// The error of `open` for a library that does not exist.
    [[nodiscard]] static error missing(char const* name) noexcept {
        return {.code = errc::not_supported,
                .operation = "load the NVIDIA driver",
                .subject = name,
                .remedy = "install the NVIDIA driver, or run jobs that need no GPU: nothing else is missing"};
    }

    /// A function with this name and type; nullptr if the library has none, as a driver that is
    /// older than the function.
    template <class Function>
    [[nodiscard]] Function* find(char const* name) const noexcept {
        // The language has no conversion between pointers to data and to functions
        return std::bit_cast<Function*>(::dlsym(handle_.get(), name));
    }
};

}  // namespace ration::cuda
