// SPDX-License-Identifier: BSL-1.0
/// Makes a policy or estimator class a plugin, by one line at the end of a source file that is built with
/// `ration_add_policy`.
///
/// Example, a complete source file:
/// ~~~{.cpp}
/// #include <ration/plugin/export.hpp>
/// #include "give_one.hpp"
/// RATION_EXPORT_POLICY(give_one)
/// ~~~
///
/// The host's side is plugin/host/host.hpp; docs/plugin-abi.md describes the calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include <ration/estimator.hpp>
#include <ration/plugin/abi.h>
#include <ration/plugin/manifest_of.hpp>
#include <ration/plugin/tick_of.hpp>
#include <ration/policy.hpp>

namespace ration::plugin {

// The types of the core and those of the ABI have the same layout, so rows and tables cross without
// a copy.
static_assert(sizeof(grant) == sizeof(ration_grant) && offsetof(grant, group) == offsetof(ration_grant, group) &&
              offsetof(grant, amount) == offsetof(ration_grant, amount) &&
              offsetof(grant, reason) == offsetof(ration_grant, reason));
static_assert(sizeof(event) == sizeof(ration_event) && offsetof(event, at) == offsetof(ration_event, t_ns) &&
              offsetof(event, b) == offsetof(ration_event, b));
static_assert(sizeof(table_view) == sizeof(ration_table) &&
              offsetof(table_view, rows) == offsetof(ration_table, n_rows) &&
              offsetof(table_view, slot) == offsetof(ration_table, slot));
static_assert(sizeof(table_changes) == sizeof(ration_changes) &&
              offsetof(table_changes, moved) == offsetof(ration_changes, moved) &&
              offsetof(table_changes, at) == offsetof(ration_changes, at_ns) &&
              std::uint32_t{capacity_columns} == RATION_C_CAPACITY &&
              std::uint32_t{description_columns} == RATION_C_DESCRIPTION);
static_assert(unlimited == RATION_UNLIMITED && max_amount == RATION_MAX_AMOUNT && least_cpu.count == RATION_LEAST_CPU);
static_assert(static_cast<int>(status::internal) == RATION_E_INTERNAL &&
              static_cast<int>(status::state) == RATION_E_STATE);

/// The functions that policies and estimators share. No C++ type and no exception crosses them.
template <class P>
class exported_functions {
protected:
    using inputs = typename P::inputs;

    /// One plugin instance.
    struct instance {
        P plugin;
        binding<inputs> bound{};
        ration_changed_rows const* changed = nullptr;  ///< null if the host does not offer the extension
    };

    /// Copies a message into the host's buffer, cut off at its size, and returns the code.
    static std::int32_t report(std::int32_t code, std::string_view sentence, char* err, std::uint64_t size) noexcept {
        if (err == nullptr || size == 0) return code;
        std::size_t const length = sentence.size() < size ? sentence.size() : size - 1;
        std::memcpy(err, sentence.data(), length);
        err[length] = '\0';
        return code;
    }

    /// Converts exceptions of a constructor or of `prepare` to a code and their own text.
    template <class Action>
    static std::int32_t guarded(char* err, std::uint64_t size, Action action) noexcept {
        try {
            return action();
        } catch (std::bad_alloc const&) {
            return report(RATION_E_NOMEM, "out of memory", err, size);
        } catch (std::exception const& e) {
            return report(RATION_E_EXCEPTION, e.what(), err, size);
        } catch (...) {
            return report(RATION_E_EXCEPTION, "an exception of an unknown type", err, size);
        }
    }

    /// Constructs the object from the configuration; an empty text means the defaults.
    static std::int32_t make(std::string_view config, void** self, char* err, std::uint64_t size) {
        if constexpr (has_parameters<P>) {
            typename P::parameters given;
            text<255> wrong;
            if (!config.empty() && !parameter_access<typename P::parameters>::read(config, given, wrong))
                return report(RATION_E_ARG, wrong, err, size);
            if (std::string_view const problem = given.problem(); !problem.empty())
                return report(RATION_E_ARG, problem, err, size);
            *self = new instance{.plugin = P(given)};
        } else {
            if (config.find_first_not_of(" \t\r\n{}") != config.npos)
                return report(RATION_E_ARG,
                              has_outputs<P> ? "this estimator takes no parameters: leave them out"
                                             : "this policy takes no parameters: leave them out",
                              err, size);
            *self = new instance{.plugin = P()};
        }
        return RATION_OK;
    }

    /// The host's columns that this version can read.
    [[nodiscard]] static std::vector<column_info> columns_of(ration_schema const& schema) {
        std::vector<column_info> all;
        auto const* place = reinterpret_cast<unsigned char const*>(schema.column);
        for (std::uint32_t i = 0; i < schema.n_columns; ++i, place += schema.column_stride) {
            ration_column column;
            std::memcpy(&column, place, sizeof column);  // columns of a later host are longer
            // Absent, or of a table or type of a later host
            if (column.slot == RATION_NO_SLOT || column.table >= table_count || column.type < RATION_U32 ||
                column.type > RATION_F64)
                continue;
            all.push_back({column.name, static_cast<table_id>(column.table), static_cast<column_type>(column.type),
                           column.width, column.slot});
        }
        return all;
    }

    /// The host's resources, by their names; none if it has an older header, or only the standard ones.
    [[nodiscard]] static std::vector<resource_info> resources_of(ration_schema const& schema) {
        bool const has_names = schema.struct_size > offsetof(ration_schema, resource_name);
        if (!has_names || schema.resource_name == nullptr) return {};
        std::vector<resource_info> all;
        all.reserve(schema.n_resources);
        for (std::uint32_t r = 0; r < schema.n_resources; ++r)
            all.push_back({.name = schema.resource_name[r], .unit = {}});
        return all;
    }

    /// The largest tables. A host with an older header has no tenants. `resources` has to outlive the result.
    [[nodiscard]] static limits limits_of(ration_schema const& schema,
                                          std::span<resource_info const> resources) noexcept {
        bool const has_tenants = schema.struct_size > offsetof(ration_schema, max_tenants);
        return {.jobs = schema.max_jobs,
                .nodes = schema.max_nodes,
                .resources = schema.n_resources,
                .tenants = has_tenants ? schema.max_tenants : 0,
                .resource_table = resources.empty() ? nullptr : resources.data()};
    }

    // The functions of the ABI; see plugin/abi.h for their contracts.
public:
    /// Constructs an instance. `err` receives a message of at most `size` bytes after an error.
    static std::int32_t create(ration_host const*, char const* config, std::uint64_t length, void** self, char* err,
                               std::uint64_t size) noexcept {
        return guarded(err, size,
                       [&] { return make(std::string_view(config, config == nullptr ? 0 : length), self, err, size); });
    }

    /// Destroys an instance. Never called while another call runs.
    static void destroy(void* self) noexcept { delete static_cast<instance*>(self); }

    /// Finds the columns, and prepares for the largest tables. Uses no scratch memory.
    static std::int32_t bind(void* self, ration_schema const* schema, std::uint64_t* scratch, char* err,
                             std::uint64_t size) noexcept {
        auto& mine = *static_cast<instance*>(self);
        *scratch = 0;
        return guarded(err, size, [&] {
            auto const found = bind_columns<inputs>(columns_of(*schema));
            if (!found)
                return report(RATION_E_UNSUPPORTED,
                              text<160>(found.failure().subject.view()).append(": ").append(found.failure().remedy),
                              err, size);
            mine.bound = *found;
            if constexpr (has_prepare<P>) {
                auto const resources = resources_of(*schema);
                if (auto const ready = mine.plugin.prepare(limits_of(*schema, resources)); ready != status::ok)
                    return report(static_cast<std::int32_t>(ready),
                                  ready == status::unsupported ? "this host lacks a resource that it needs"
                                                               : "it cannot prepare for tables of this size",
                                  err, size);
            }
            return std::int32_t{RATION_OK};
        });
    }

    /// Saves the state, or reports the size that it needs.
    static std::int32_t save(void* self, void* buffer, std::uint64_t capacity, std::uint64_t* size) noexcept
        requires has_state<P>
    {
        *size = static_cast<instance const*>(self)->plugin.save(
            {static_cast<std::byte*>(buffer), buffer == nullptr ? 0 : capacity});
        return *size <= capacity ? RATION_OK : RATION_E_CAPACITY;
    }

    /// Restores the state.
    static std::int32_t load(void* self, void const* buffer, std::uint64_t size) noexcept
        requires has_state<P>
    {
        return static_cast<std::int32_t>(
            static_cast<instance*>(self)->plugin.load({static_cast<std::byte const*>(buffer), size}));
    }
};

/// The functions behind `ration_policy_v1` for one policy class.
template <class P>
class exported : public exported_functions<P> {
    static_assert(sizeof(require_policy<P>) > 0);
    using functions = exported_functions<P>;
    using typename functions::inputs;
    using typename functions::instance;

    /// The host's list of changed rows; null if it offers none. A host with an older header has a
    /// shorter struct.
    [[nodiscard]] static ration_changed_rows const* changed_rows_of(ration_host const* host) noexcept {
        if (host == nullptr || host->extension == nullptr) return nullptr;
        auto const* const offered =
            static_cast<ration_changed_rows const*>(host->extension(host->ctx, RATION_EXT_CHANGED_ROWS));
        return offered != nullptr && offered->struct_size >= offsetof(ration_changed_rows, written) ? offered : nullptr;
    }

    [[nodiscard]] static std::int32_t decide_tick(instance& mine, ration_tick const& t, ration_out& out) noexcept {
        auto const data = tick_of(t, changes_of(t));
        return answer_tick(mine.changed, out,
                           [&](grants& answer) { return mine.plugin.decide(tick<inputs>(data, mine.bound), answer); });
    }

public:
    /// Constructs an instance, which remembers the host's list of changed rows.
    static std::int32_t create(ration_host const* host, char const* config, std::uint64_t length, void** self,
                               char* err, std::uint64_t size) noexcept {
        auto const made = functions::create(host, config, length, self, err, size);
        if (made == RATION_OK) static_cast<instance*>(*self)->changed = changed_rows_of(host);
        return made;
    }

    /// The list of changed rows, if the policy goes by it; an older host has none.
    [[nodiscard]] static table_changes const* const* changes_of(ration_tick const& t) noexcept {
        if constexpr (!has_followed_changes<P>) return nullptr;
        bool const has_any = t.struct_size >= offsetof(ration_tick, changes) + sizeof t.changes;
        return has_any ? reinterpret_cast<table_changes const* const*>(t.changes) : nullptr;
    }

    /// Decides one tick.
    static std::int32_t decide(void* self, ration_tick const* t, ration_out* out) noexcept {
        return decide_tick(*static_cast<instance*>(self), *t, *out);
    }

    /// The same, flattened, since the tick of a small policy consists mostly of calls. Policies that go by the list of
    /// changes are large. Flattened, they take up to two minutes to compile.
    [[gnu::flatten]] static std::int32_t decide_flat(void* self, ration_tick const* t, ration_out* out) noexcept {
        return decide_tick(*static_cast<instance*>(self), *t, *out);
    }

    /// Passes events on, one by one: the events of a later host may be longer than this version's.
    static std::int32_t on_event(void* self, ration_event const* events, std::uint64_t count,
                                 std::uint32_t stride) noexcept
        requires has_events<P>
    {
        event here;
        for (std::uint64_t i = 0; i < count; ++i) {
            std::memcpy(&here, reinterpret_cast<unsigned char const*>(events) + i * stride, sizeof here);
            static_cast<instance*>(self)->plugin.on_events({&here, 1});
        }
        return RATION_OK;
    }

    /// The table of functions; optional ones are null if the class lacks them.
    [[nodiscard]] static constexpr ration_policy table(ration_manifest const* manifest) noexcept {
        ration_policy p{};
        p.struct_size = sizeof p;
        p.flags = flags_of<P>;
        p.manifest = manifest;
        p.create = &create;
        p.destroy = &functions::destroy;
        p.bind = &functions::bind;
        if constexpr (has_followed_changes<P>)
            p.decide = &decide;
        else
            p.decide = &decide_flat;
        if constexpr (has_events<P>) p.on_event = &on_event;
        if constexpr (has_state<P>) {
            p.save = &functions::save;
            p.load = &functions::load;
        }
        return p;
    }
};

/// The functions behind `ration_estimator_v1` for one estimator class.
template <class E>
class exported_estimator : public exported_functions<E> {
    static_assert(sizeof(require_estimator<E>) > 0);
    using functions = exported_functions<E>;
    using outputs = typename E::outputs;
    using typename functions::inputs;
    using typename functions::instance;

public:
    /// Writes the columns of one tick.
    static std::int32_t estimate(void* self, ration_tick const* t, ration_estimates const* out) noexcept {
        auto& mine = *static_cast<instance*>(self);
        auto const data = tick_of(*t, nullptr);
        std::array<output_column, outputs::count> columns;
        for (std::size_t k = 0; k < outputs::count; ++k) columns[k] = {.first = out->column[k]};
        mine.plugin.estimate(tick<inputs>(data, mine.bound), estimates<outputs>(columns, out->n_rows));
        return RATION_OK;
    }

    /// The table of functions; optional ones are null if the class lacks them.
    [[nodiscard]] static constexpr ration_estimator table(ration_manifest const* manifest) noexcept {
        ration_estimator e{};
        e.struct_size = sizeof e;
        e.flags = flags_of<E>;
        e.manifest = manifest;
        e.create = &functions::create;
        e.destroy = &functions::destroy;
        e.bind = &functions::bind;
        e.estimate = &estimate;
        if constexpr (has_state<E>) {
            e.save = &functions::save;
            e.load = &functions::load;
        }
        return e;
    }
};

}  // namespace ration::plugin

/// The whole plugin: manifest and entry symbol of `policy`. Once per shared object.
#define RATION_EXPORT_POLICY(policy)                                                    \
    RATION_MANIFEST ration_exported_manifest = ::ration::plugin::manifest_of<policy>(); \
    extern "C" {                                                                        \
    extern RATION_EXPORT constinit ration_policy const ration_policy_v1;                \
    constinit ration_policy const ration_policy_v1 =                                    \
        ::ration::plugin::exported<policy>::table(&ration_exported_manifest);           \
    }

/// The same for `estimator`. Its columns are scalar ones.
#define RATION_EXPORT_ESTIMATOR(estimator)                                                 \
    RATION_MANIFEST ration_exported_manifest = ::ration::plugin::manifest_of<estimator>(); \
    extern "C" {                                                                           \
    extern RATION_EXPORT constinit ration_estimator const ration_estimator_v1;             \
    constinit ration_estimator const ration_estimator_v1 =                                 \
        ::ration::plugin::exported_estimator<estimator>::table(&ration_exported_manifest); \
    }
