// SPDX-License-Identifier: BSL-1.0
/// The list of misbehaviours. tests/plugin/CMakeLists.txt reads it, and builds the plugin misbehaving_NAME.so for each:
/// one enumerator a line. The first forty rules are also rules for hosts; the rest only make a probe of `ration check`
/// fail.
#pragma once

namespace misbehaving {

enum class misbehaviour : unsigned char {
    none,
    // tests/run/plugin_test.py shows that a host survives these.
    crashes_while_loading,
    exports_too_much,
    stays_loaded,
    throws_in_create,
    replaces_signal_handler,
    changes_directory,
    overruns_err,
    leaves_thread,
    leaks_instance,
    ignores_column_stride,
    binds_without_columns,
    aborts_on_unknown_event,
    throws_in_decide,
    aborts_in_decide,
    exits_in_decide,
    loops_in_decide,
    writes_to_inputs,
    allocates_in_decide,
    changes_float_mode,
    overflows_stack,
    overruns_scratch,
    overruns_output,
    grants_to_unknown_job,
    grants_on_unknown_node,
    grants_negative_amount,
    grants_huge_amount,
    grants_above_capacity,
    grants_twice,
    shares_state_of_instances,
    counts_too_many_grants,
    writes_to_former_output,
    replaces_output,
    overruns_save_buffer,
    changes_state_in_save,
    loads_damaged_state,
    has_another_abi,
    needs_later_minor,
    has_another_layout,
    has_absurd_table_size,
    lacks_bind,
    // Only `ration check` detects these.
    grants_on_fourth_of_three_nodes,
    ignores_loaded_state,
    sets_environment_variable,
    ignores_column_type,
    reports_no_needed_rows,
    reads_past_column,
    returns_unknown_code_in_decide,
    leaves_err_without_end,
    has_malformed_needs,
    exceeds_maximum_over_nodes,
    misses_minimum_over_nodes,
    splits_job_over_groups,
    has_malformed_schema,
    hides_own_thread,
    ignores_second_bind,
    reads_former_capacity,
    returns_unknown_code_in_load,
    omits_needed_column,
    writes_to_stdout_in_decide,
    reads_file_in_decide,
    sleeps_in_decide,
    prints_through_buffer,
    leaks_descriptor,
    blocks_signal,
    pins_thread,
    changes_umask,
    changes_locale,
    has_malformed_version,
    needs_unknown_extension,
    ignores_repeated_tick,
    ignores_changed_state,
    ignores_moved_rows,
    ignores_changed_capacity,
};

/// Of this file.
inline constexpr misbehaviour chosen = misbehaviour::RATION_MISBEHAVIOUR;

[[nodiscard]] constexpr bool is(misbehaviour one) noexcept { return chosen == one; }

}  // namespace misbehaving
