// SPDX-License-Identifier: BSL-1.0
/// The published formats of traces, as tables of their columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ration::sim::trace {

/// The meaning of a column for a job. Times are numbers in the unit of the layout, or timestamps if it allows them.
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
    within,       ///< times from the submission to the deadlines, joined by '-'; the first one counts
    best_effort,  ///< 1: `within` does not count
    item,
    item_bytes,
    read,
    requests,
    phases,
    nothing  ///< a column that is not read
};
/// The number of fields with a meaning.
inline constexpr std::size_t fields = 24;

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
    pollux,
    swf,
    acme,
    openb,
    shockwave,
    muri,
    chronus
};
/// Their names in options.
inline constexpr std::array<std::string_view, 16> format_names{
    "detect",      "ration", "philly", "philly-json", "helios", "alibaba",   "tiresias", "gavel",
    "elasticflow", "pollux", "swf",    "acme",        "openb",  "shockwave", "muri",     "chronus"};

/// A CSV dialect: the columns of its first line, and their meaning.
struct layout {
    format is;
    std::span<column const> columns;
    char separator = ',';
    /// A trace of a real cluster: times can be timestamps, and rows without devices or run time are skipped
    bool real = false;
    bool rigid_too = false;  ///< a model that is not in the library is not an error: the run time is enough
    bool untitled = false;   ///< the line of titles can be missing; the columns are in this order then
    double unit = 1;         ///< seconds of a unit of its times
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

/// Shanghai AI Laboratory's Acme (NSDI'24), both clusters. Its `duration` includes the time in the queue in one of
/// them, so that the run time is computed.
inline constexpr column acme_columns[] = {{"job_id", field::name},           {"user", field::tenant, false},
                                          {"gpu_num", field::devices},       {"type", field::nothing},
                                          {"submit_time", field::submitted}, {"start_time", field::started},
                                          {"end_time", field::ended},        {"gpu_time", field::nothing}};

/// The pods of Alibaba's cluster-trace-gpu-v2023. A pod that shares a device counts with the whole device.
inline constexpr column openb_columns[] = {{"name", field::name},
                                           {"num_gpu", field::devices},
                                           {"gpu_milli", field::nothing},
                                           {"creation_time", field::submitted},
                                           {"scheduled_time", field::started},
                                           {"deletion_time", field::ended}};

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

/// Muri (SIGCOMM'22). Times are in milliseconds.
inline constexpr column muri_columns[] = {
    {"job_id", field::name},       {"num_gpu", field::devices},        {"submit_time", field::submitted},
    {"iterations", field::length}, {"model_name", field::model},       {"batch_size", field::batch, false},
    {"duration", field::duration}, {"iteration_time", field::nothing}, {"resource_time_0", field::nothing}};

/// Chronus (SoCC'21). Times are in minutes.
inline constexpr column chronus_columns[] = {{"job_id", field::name},
                                             {"user", field::tenant},
                                             {"num_gpu", field::devices},
                                             {"submit_time", field::submitted},
                                             {"iterations", field::length},
                                             {"model_name", field::model},
                                             {"duration", field::duration},
                                             {"expect_time_list", field::within},
                                             {"best_effort", field::best_effort}};

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

/// Shockwave (NSDI'23), in the order of its parser. It has no line of titles. `duration` is that of the job alone.
inline constexpr column shockwave_columns[] = {
    {"job_type", field::model},        {"command", field::nothing},        {"working_directory", field::nothing},
    {"num_steps_arg", field::nothing}, {"needs_data_dir", field::nothing}, {"total_steps", field::length},
    {"scale_factor", field::devices},  {"mode", field::nothing},           {"priority_weight", field::weight},
    {"slo", field::nothing},           {"duration", field::duration},      {"arrival_time", field::submitted}};

/// ElasticFlow (ASPLOS'23). Deadlines are on the clock of `submit_time`.
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
    {.is = format::muri, .columns = detail::muri_columns, .rigid_too = true, .unit = 1e-3},
    {.is = format::chronus, .columns = detail::chronus_columns, .real = true, .rigid_too = true, .unit = 60},
    {.is = format::tiresias, .columns = detail::tiresias_columns, .rigid_too = true},
    {.is = format::acme, .columns = detail::acme_columns, .real = true},
    {.is = format::helios, .columns = detail::helios_columns, .real = true},
    {.is = format::philly, .columns = detail::philly_columns, .real = true},
    {.is = format::openb, .columns = detail::openb_columns, .real = true},
    {.is = format::pollux, .columns = detail::pollux_columns},
    {.is = format::alibaba, .columns = detail::alibaba_columns, .real = true, .untitled = true},
    {.is = format::ration, .columns = detail::ration_columns},
    {.is = format::gavel, .columns = detail::gavel_columns, .separator = '\t', .untitled = true},
    {.is = format::gavel, .columns = detail::gavel_nine_columns, .separator = '\t', .untitled = true},
    {.is = format::gavel, .columns = detail::gavel_seven_columns, .separator = '\t', .real = true, .untitled = true},
    {.is = format::shockwave,
     .columns = detail::shockwave_columns,
     .separator = '\t',
     .rigid_too = true,
     .untitled = true},
};

/// The layout with another unit: seconds of a unit of its times; 0 = its own.
[[nodiscard]] constexpr layout in_unit(layout of, double unit) noexcept {
    if (unit > 0) of.unit = unit;
    return of;
}

/// The first layout of a format; nullptr for `detect`, and for formats that are not tables.
[[nodiscard]] constexpr layout const* find_layout(format f) noexcept {
    for (auto const& one : layouts)
        if (one.is == f) return &one;
    return nullptr;
}

}  // namespace ration::sim::trace
