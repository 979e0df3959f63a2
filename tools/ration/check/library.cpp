// SPDX-License-Identifier: BSL-1.0
#include "library.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fmt/core.h>

#include "finding.hpp"

namespace ration::conformance {

library::library(subject const& s) : handle_(::dlopen(s.path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) broken(fmt::format("it cannot be loaded: {}", ::dlerror()));
    auto const* const found = ::dlsym(handle_, s.is_estimator() ? RATION_ABI_ESTIMATOR_SYMBOL : RATION_ABI_SYMBOL);
    if (found == nullptr)
        broken(s.is_estimator() ? "it has no symbol " RATION_ABI_ESTIMATOR_SYMBOL
                                  ": end its source with RATION_EXPORT_ESTIMATOR"
                                : "it has no symbol " RATION_ABI_SYMBOL ": end its source with RATION_EXPORT_POLICY");
    // dlsym also looks into the libraries that it is linked with.
    Dl_info where{}, of_manifest{};
    std::memcpy(&size_, found, sizeof size_);
    if (s.is_estimator())
        copy_estimator(found);
    else
        std::memcpy(&table_, found, std::min<std::size_t>(size_, sizeof table_));
    if (::dladdr(found, &where) == 0 || table_.manifest == nullptr || ::dladdr(table_.manifest, &of_manifest) == 0 ||
        where.dli_fbase != of_manifest.dli_fbase)
        broken(
            "the entry symbol and its manifest are not in one file: the vtable must point to the plugin's own manifest");
    if (std::memcmp(table_.manifest, &s.manifest, std::min<std::size_t>(s.manifest.struct_size, sizeof s.manifest)) !=
        0)
        broken("the manifest in memory is not the one in the file: it must be constant");
}

/// The functions that it shares with policies.
void library::copy_estimator(void const* entry) noexcept {
    ration_estimator from{};
    std::memcpy(&from, entry, std::min<std::size_t>(size_, sizeof from));
    estimate_ = from.estimate;
    table_.struct_size = from.struct_size;
    table_.flags = from.flags;
    table_.manifest = from.manifest;
    table_.create = from.create;
    table_.destroy = from.destroy;
    table_.bind = from.bind;
    table_.save = from.save;
    table_.load = from.load;
}

void library::close() noexcept { ::dlclose(handle_); }

}  // namespace ration::conformance
