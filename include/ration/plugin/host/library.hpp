// SPDX-License-Identifier: BSL-1.0
/// A plugin as loaded code, policy or estimator: a sealed copy that is checked before any of it runs, loaded with
/// Boost.DLL, and tested after unloading.
#pragma once

#define BOOST_DLL_USE_STD_FS

#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <ration/plugin/abi.h>
#include <ration/plugin/host/computed_columns.hpp>
#include <ration/plugin/host/elf_file.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/plugin/host/trusted_file.hpp>
#include <ration/result.hpp>

namespace ration::plugin {

/// A plugin file that passed every check that does not run its code. Move-only.
struct plugin_file {
    std::string path;  ///< the original path, for messages
    /// The copy that is loaded, as the original can change meanwhile; none for a policy that is compiled in.
    sealed_copy copy;
    /// The manifest in the file.
    ration_manifest manifest{};
    /// The facts from the ELF tables.
    elf_facts facts;

    /// Opens and checks a file. Errors: those of `open_trusted` and of `check`.
    [[nodiscard]] static result<plugin_file> open(std::string const& path) {
        auto const file = open_trusted(path);
        if (!file) return file.failure();
        auto copy = sealed_copy::of(*file, path);
        if (!copy) return copy.failure();
        return check(std::move(copy).value(), path);
    }

    /// A policy that the program of its worker contains: its name in place of a path, and no copy.
    [[nodiscard]] static plugin_file compiled_in(ration_manifest const& m) {
        return {std::string(detail::text_in(m.name)), {}, m, {}};
    }

    /// Checks a copy. Errors: those of `inspect`, `manifest_in` and `acceptable`; denied for
    /// writable code or an executable stack.
    [[nodiscard]] static result<plugin_file> check(sealed_copy copy, std::string const& path) {
        auto facts = inspect(copy.bytes());
        if (!facts) return facts.failure();
        auto const manifest = manifest_in(copy.bytes());
        if (!manifest) return manifest.failure();
        if (auto const good = acceptable(*manifest); !good) return good.failure();
        if (facts->text_relocations || facts->executable_stack)
            return detail::file_error(
                errc::denied, path,
                "it wants writable code or an executable stack: build it with -fPIC -z noexecstack");
        return plugin_file{path, std::move(copy), *manifest, std::move(facts).value()};
    }
};

namespace detail {

/// True if a file with this path is mapped as a library, for whatever reason.
[[nodiscard]] inline bool is_resident(std::string const& path) noexcept {
    void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
}

/// Checks that the loaded code has the manifest of the file.
[[nodiscard]] inline result<void> compare_with_file(ration_policy const& table, ration_manifest const& manifest,
                                                    std::string_view path) noexcept {
    auto const refuse = [&](char const* remedy) { return file_error(errc::invalid_value, path, remedy); };
    if ((table.save == nullptr) != (table.load == nullptr))
        return refuse("save and load must both be there, or neither");
    ration_manifest loaded{};
    if (table.manifest == nullptr) return refuse("its entry symbol names no manifest");
    std::memcpy(&loaded, table.manifest,
                table.manifest->struct_size < sizeof loaded ? table.manifest->struct_size : sizeof loaded);
    if (std::memcmp(&loaded, &manifest, sizeof loaded) != 0 || table.flags != manifest.flags)
        return refuse("the loaded code is not that of the file: its manifest differs");
    return {};
}

/// The plugin's table of functions in the version of this host: an older plugin's is shorter and is
/// filled with null functions.
[[nodiscard]] inline result<ration_policy> copy_table(void const* symbol, ration_manifest const& manifest,
                                                      std::string_view path) noexcept {
    auto const refuse = [&](char const* remedy) { return file_error(errc::invalid_value, path, remedy); };
    ration_policy table{};
    std::uint32_t size = 0;
    std::memcpy(&size, symbol, sizeof size);
    if (size < offsetof(ration_policy, extension) || size > 65536)
        // Neither too small for the required functions nor implausibly large.
        return refuse("the size of ration_policy_v1 is absurd: build the plugin again");
    std::memcpy(&table, symbol, size < sizeof table ? size : sizeof table);
    if (table.create == nullptr || table.destroy == nullptr || table.bind == nullptr || table.decide == nullptr)
        return refuse("create, destroy, bind and decide must all be there");
    if (auto const same = compare_with_file(table, manifest, path); !same) return same.failure();
    return table;
}

/// The same for an estimator, with the functions that it shares with policies in `table`.
struct estimator_functions {
    ration_policy table{};
    decltype(ration_estimator::estimate) estimate = nullptr;
};
[[nodiscard]] inline result<estimator_functions> copy_estimator(void const* symbol, ration_manifest const& manifest,
                                                                std::string_view path) noexcept {
    auto const refuse = [&](char const* remedy) { return file_error(errc::invalid_value, path, remedy); };
    ration_estimator from{};
    std::uint32_t size = 0;
    std::memcpy(&size, symbol, sizeof size);
    if (size < sizeof from || size > 65536)
        return refuse("the size of ration_estimator_v1 is absurd: build the plugin again");
    std::memcpy(&from, symbol, sizeof from);
    if (from.create == nullptr || from.destroy == nullptr || from.bind == nullptr || from.estimate == nullptr)
        return refuse("create, destroy, bind and estimate must all be there");
    estimator_functions to{.estimate = from.estimate};
    to.table.struct_size = sizeof to.table;
    to.table.flags = from.flags;
    to.table.manifest = from.manifest;
    to.table.create = from.create;
    to.table.destroy = from.destroy;
    to.table.bind = from.bind;
    to.table.save = from.save;
    to.table.load = from.load;
    if (auto const same = compare_with_file(to.table, manifest, path); !same) return same.failure();
    return to;
}

}  // namespace detail

/// Loaded code. Move-only; unloaded by `unload` or by the destructor. Instances have to be
/// destroyed first.
class library {
    plugin_file file_;
    boost::dll::shared_library code_;
    ration_policy table_{};
    decltype(ration_estimator::estimate) estimate_ = nullptr;
    computed_columns computed_;

    explicit library(plugin_file file) noexcept : file_(std::move(file)) {}

public:
    /// Takes over the loaded code.
    library(library&&) noexcept = default;
    library& operator=(library&&) = delete;

    /// Loads a file, which runs the static constructors of the plugin. Errors: invalid_value (the
    /// loaded code differs from the file, or lacks a function), not_supported (the dynamic linker
    /// fails; its message goes to `message`).
    [[nodiscard]] static result<library> load(plugin_file file, std::string* message = nullptr) {
        library loaded(std::move(file));
        std::string const path = loaded.file_.copy.path();
        auto const refuse = [&](errc code, char const* remedy) {
            return detail::file_error(code, loaded.file_.path, remedy);
        };
        // The path is that of a memory file, which the linker would take for the same library.
        if (detail::is_resident(path))
            return refuse(errc::internal, "other code is loaded under the same name: start the program again");
        try {
            loaded.code_.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
        } catch (std::exception const& e) {
            if (message != nullptr) *message = e.what();
            return refuse(errc::not_supported, "the dynamic linker refuses it: see ldd for what is missing");
        }
        if (!loaded.code_.has(loaded.symbol()))
            return refuse(errc::invalid_value, loaded.is_estimator()
                                                   ? "it has no symbol ration_estimator_v1: build it again"
                                                   : "it has no symbol ration_policy_v1: build it again");
        void const* const symbol = &loaded.code_.get<std::uint32_t const>(loaded.symbol());
        Dl_info where{};
        if (::dladdr(symbol, &where) == 0 || path != where.dli_fname)
            return refuse(errc::invalid_value,
                          "its entry symbol comes from a library that it is linked with: link that statically");
        if (auto const taken = loaded.take_functions(symbol); !taken) return taken.failure();
        return loaded;
    }

    /// The file.
    [[nodiscard]] plugin_file const& file() const noexcept { return file_; }
    /// The functions.
    [[nodiscard]] ration_policy const& table() const noexcept { return table_; }
    /// True if the manifest has computed columns. Then `table` lacks `decide`, and `estimate` is there.
    [[nodiscard]] bool is_estimator() const noexcept { return is_estimator_file(file_.manifest); }
    /// The function of an estimator; null for a policy.
    [[nodiscard]] auto estimate() const noexcept { return estimate_; }
    /// The columns of an estimator.
    [[nodiscard]] computed_columns const& computed() const noexcept { return computed_; }

    /// Unloads the code. Returns false if it stays mapped: because of a unique symbol, a destructor
    /// of a thread-local object, or a reference to itself. That is not an error; only its memory is
    /// not released.
    [[nodiscard]] bool unload() noexcept {
        if (!code_.is_loaded() || (file_.manifest.flags & (RATION_F_NO_UNLOAD | RATION_F_OWN_THREADS)) != 0)
            return false;
        code_.unload();
        return !detail::is_resident(file_.copy.path());
    }

private:
    [[nodiscard]] char const* symbol() const noexcept {
        return is_estimator() ? RATION_ABI_ESTIMATOR_SYMBOL : RATION_ABI_SYMBOL;
    }
    [[nodiscard]] result<void> take_functions(void const* symbol) {
        if (!is_estimator()) {
            auto const table = detail::copy_table(symbol, file_.manifest, file_.path);
            if (!table) return table.failure();
            table_ = *table;
            return {};
        }
        auto const found = detail::copy_estimator(symbol, file_.manifest, file_.path);
        if (!found) return found.failure();
        auto computed = computed_by(file_.manifest);
        if (!computed) return computed.failure();
        table_ = found->table;
        estimate_ = found->estimate;
        computed_ = computed_columns(std::move(computed).value());
        return {};
    }
};

}  // namespace ration::plugin
