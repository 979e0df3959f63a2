// SPDX-License-Identifier: BSL-1.0
/// The published formats of traces, as tables of their columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ration::sim::trace {

/// The meaning of a column for a job. Times are in seconds, or timestamps if the layout allows them.
enum class field : std::uint8_t {
    name,
    tenant,
    model,
    submitted,
    started,
    ended,
    duration,
    devices,
    instances,
    least,
    most,
    batch,
    length,
    weight,
    restart_cost,
    deadline,
    item,
    item_bytes,
    read,
    requests,
    phases,
    nothing  ///< a column that is not read
};
/// The number of fields with a meaning.
inline constexpr std::size_t fields = 22;

/// A column of a format: its title, its meaning, and whether it is required.
struct column {
    std::string_view title;
    field to;
    bool needed = true;
};

/// The formats, in the order of `format_names`.
enum class format : std::uint8_t {
    detect,
    ration,
    philly,
    philly_json,
    helios,
    alibaba,
    tiresias,
    gavel,
    elasticflow,
    pollux
};
/// Their names in options.
inline constexpr std::array<std::string_view, 10> format_names{
    "detect", "ration", "philly", "philly-json", "helios", "alibaba", "tiresias", "gavel", "elasticflow", "pollux"};

/// A CSV dialect: the columns of its first line, and their meaning.
struct layout {
    format is;
    std::span<column const> columns;
    char separator = ',';
    /// A trace of a real cluster: times can be timestamps, the first job is submitted at 0, and rows without devices
    /// or run time are skipped
    bool real = false;
    bool rigid_too = false;  ///< a model that is not in the library is not an error: the run time is enough
    bool untitled = false;   ///< the line of titles can be missing; the columns are in this order then
};

namespace detail {

/// ration's own format: the first four columns are enough for a trace, and the others are for jobs that need them.
/// write.hpp defines each.
inline constexpr column ration_columns[] = {{"job_id", field::name},
                                            {"submit_time", field::submitted},
                                            {"num_gpus", field::devices},
                                            {"duration", field::duration, false},
                                            {"tenant", field::tenant, false},
                                            {"model", field::model, false},
                                            {"min_gpus", field::least, false},
                                            {"max_gpus", field::most, false},
                                            {"batch_size", field::batch, false},
                                            {"length", field::length, false},
                                            {"weight", field::weight, false},
                                            {"restart_cost", field::restart_cost, false},
                                            {"deadline", field::deadline, false},
                                            {"data_set", field::item, false},
                                            {"data_bytes", field::item_bytes, false},
                                            {"read_bytes", field::read, false},
                                            {"requests", field::requests, false},
                                            {"phases", field::phases, false}};

/// Microsoft's Philly, as condensed by the artifact of Pollux (OSDI'21).
inline constexpr column philly_columns[] = {{"timestamp", field::submitted},
                                            {"duration", field::duration},
                                            {"num_gpus", field::devices},
                                            {"cluster", field::tenant}};

/// SenseTime's Helios (SC'21). The tenant is the virtual cluster if there is one, otherwise the user.
inline constexpr column helios_columns[] = {{"job_id", field::name},           {"user", field::tenant, false},
                                            {"vc", field::tenant, false},      {"gpu_num", field::devices},
                                            {"submit_time", field::submitted}, {"duration", field::duration}};

/// The task table of Alibaba's cluster-trace-gpu-v2020, from memory of its published files. `plan_gpu` is the
/// percentage of a device for each of `inst_num` instances; alibaba.hpp sums up the tasks of a job.
inline constexpr column alibaba_columns[] = {{"job_name", field::name},           {"task_name", field::nothing},
                                             {"inst_num", field::instances},      {"status", field::nothing},
                                             {"start_time", field::started},      {"end_time", field::ended},
                                             {"plan_cpu", field::nothing, false}, {"plan_mem", field::nothing, false},
                                             {"plan_gpu", field::devices},        {"gpu_type", field::nothing, false}};

/// The simulator of Tiresias (NSDI'19), and its descendants.
inline constexpr column tiresias_columns[] = {{"job_id", field::name},           {"num_gpu", field::devices},
                                              {"submit_time", field::submitted}, {"iterations", field::length},
                                              {"model_name", field::model},      {"duration", field::duration}};

/// Gavel (OSDI'20), in the order in which its parser reads the columns. It has neither a line of titles nor run
/// times, so the library has to contain its models. The traces that it made from Philly are for an older parser with
/// seven columns; the newest has ten.
inline constexpr column gavel_columns[] = {
    {"job_type", field::model},        {"command", field::nothing},        {"working_directory", field::nothing},
    {"num_steps_arg", field::nothing}, {"needs_data_dir", field::nothing}, {"total_steps", field::length},
    {"scale_factor", field::devices},  {"priority_weight", field::weight}, {"slo", field::nothing},
    {"arrival_time", field::submitted}};
inline constexpr column gavel_nine_columns[] = {
    {"job_type", field::model},         {"command", field::nothing},    {"num_steps_arg", field::nothing},
    {"needs_data_dir", field::nothing}, {"total_steps", field::length}, {"scale_factor", field::devices},
    {"priority_weight", field::weight}, {"slo", field::nothing},        {"arrival_time", field::submitted}};
inline constexpr column gavel_seven_columns[] = {{"job_type", field::model},        {"command", field::nothing},
                                                 {"num_steps_arg", field::nothing}, {"needs_data_dir", field::nothing},
                                                 {"total_steps", field::length},    {"arrival_time", field::submitted},
                                                 {"scale_factor", field::devices}};

/// ElasticFlow (ASPLOS'23). Deadlines are absolute.
inline constexpr column elasticflow_columns[] = {{"job_id", field::name},       {"submit_time", field::submitted},
                                                 {"model_name", field::model},  {"ddl", field::deadline},
                                                 {"batch_size", field::batch},  {"num_gpu", field::devices},
                                                 {"duration", field::duration}, {"iteration", field::length}};

/// The workloads of Pollux (OSDI'21) and, with the same columns, of Sia (SOSP'23).
inline constexpr column pollux_columns[] = {{"name", field::name},
                                            {"time", field::submitted},
                                            {"application", field::model},
                                            {"num_replicas", field::devices},
                                            {"batch_size", field::batch}};

}  // namespace detail

/// All layouts, in the order in which `detect` tries them: the more specific first.
inline constexpr layout layouts[] = {
    {.is = format::elasticflow, .columns = detail::elasticflow_columns, .rigid_too = true},
    {.is = format::tiresias, .columns = detail::tiresias_columns, .rigid_too = true},
    {.is = format::helios, .columns = detail::helios_columns, .real = true},
    {.is = format::philly, .columns = detail::philly_columns, .real = true},
    {.is = format::pollux, .columns = detail::pollux_columns},
    {.is = format::alibaba, .columns = detail::alibaba_columns, .real = true, .untitled = true},
    {.is = format::ration, .columns = detail::ration_columns},
    {.is = format::gavel, .columns = detail::gavel_columns, .separator = '\t', .untitled = true},
    {.is = format::gavel, .columns = detail::gavel_nine_columns, .separator = '\t', .untitled = true},
    {.is = format::gavel, .columns = detail::gavel_seven_columns, .separator = '\t', .real = true, .untitled = true},
};

/// The first layout of a format; nullptr for `detect`, and for formats that are not tables.
[[nodiscard]] constexpr layout const* find_layout(format f) noexcept {
    for (auto const& one : layouts)
        if (one.is == f) return &one;
    return nullptr;
}

}  // namespace ration::sim::trace
