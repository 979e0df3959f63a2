// SPDX-License-Identifier: BSL-1.0
#include "config/devices.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "config/job.hpp"

namespace ration::program {
namespace {

constexpr std::int64_t most_devices = 1024, most_nodes_of_job = 256, most_batch = std::int64_t{1} << 40;
constexpr double least_device_cores = least_cpu.count / 1000.0, most_device_cores = 4096, least_gpu = 0.01,
                 most_gpu = 0.5, least_speedup = 1e-6, most_speedup = 1e9;
constexpr nanoseconds least_deadline = milliseconds(100), longest_deadline = seconds(86400);
constexpr std::string_view devices_wanted =
    "\"gpus\" or a table, such as { count = 4, cpu = 0.5 } or { count = 4, gpu = 0.25 }";
constexpr std::string_view gpu_wanted = "a number of devices or a table, such as { min = 1, max = 4 }";

/// Reads the parts of one job that are about its devices.
class elastic_reader {
    table_reader& keys_;
    diagnostics& problems_;
    elastic_config& into_;

    void refuse(position at, std::string sentence) const { problems_.add(at, std::move(sentence)); }

public:
    elastic_reader(table_reader& job, elastic_config& into, diagnostics& problems)
        : keys_(job), problems_(problems), into_(into) {}

    void read() {
        read_list<double>("speedup", "a list of numbers by number of devices, such as [0, 1, 1.8]", into_.speedup,
                          least_speedup, most_speedup);
        check_speedup();
        read_list<std::int64_t>("batch", "a list of whole numbers by number of devices, such as [0, 128, 256]",
                                into_.batches, std::int64_t{1}, most_batch);
        read_checkpoint();
        read_time("restart_cost", keys_, into_.restart_cost);
        read_nodes();
        auto const* const deadlines =
            keys_.take<table>("deadlines", "a table, such as { save = \"2m\", stop = \"30s\", start = \"5m\" }");
        if (deadlines == nullptr) return;
        table_reader keys(*deadlines, "'deadlines'", problems_);
        read_time("save", keys, into_.deadlines.save);
        read_time("stop", keys, into_.deadlines.stop);
        read_time("start", keys, into_.deadlines.start);
        keys.report_all_unknown();
    }

private:
    void read_time(std::string_view key, table_reader& keys, nanoseconds& into) {
        auto const* const text = keys.take<std::string>(key, "a duration in quotes, such as \"20s\"");
        auto const time = text != nullptr ? read_duration(key, *text, keys.place_of(key), problems_) : std::nullopt;
        if (!time) return;
        if (*time < least_deadline || *time > longest_deadline)
            return refuse(keys.place_of(key), fmt::format("'{}' is {}; write a duration from \"100ms\" to \"24h\"", key,
                                                          program::quoted(*text)));
        into = *time;
    }

    void read_nodes() {
        auto const* const nodes = keys_.take<std::int64_t>("nodes", "the number of nodes that the job can use at once");
        if (nodes == nullptr) return;
        if (*nodes < 1 || *nodes > most_nodes_of_job)
            return refuse(keys_.place_of("nodes"),
                          fmt::format("nodes is {}; write a number from 1 to {}", *nodes, most_nodes_of_job));
        into_.most_nodes = *nodes;
    }

    void read_checkpoint() {
        auto const* const folder = keys_.take<std::string>("checkpoint", "the path of a folder in quotes");
        if (folder == nullptr) return;
        into_.checkpoint_at = keys_.place_of("checkpoint");
        if (folder->empty() || folder->find('\0') != std::string::npos)
            return refuse(into_.checkpoint_at,
                          "'checkpoint' is not a path; leave the key out to keep checkpoints with the run's output");
        into_.checkpoint = *folder;
    }

    /// The last entry applies beyond the end of the list.
    void check_speedup() {
        auto const& list = into_.speedup;
        if (list.empty()) return;
        auto const last = static_cast<std::int64_t>(list.size() - 1);
        std::int64_t const from = std::min(into_.devices.minimum, last), to = std::min(into_.devices.maximum, last);
        if (std::all_of(list.begin() + from, list.begin() + to + 1, [](double n) { return n == 0; }))
            refuse(keys_.place_of("speedup"),
                   "'speedup' is 0 for each number of devices within the bounds, so the job could never run; correct "
                   "the list or the bounds");
    }

    template <class T>
    void read_list(std::string_view key, std::string_view wanted, std::vector<T>& into, T least, T most) {
        auto const* const list = keys_.take<array>(key, wanted);
        if (list == nullptr) return;
        std::vector<T> out;
        for (auto const& v : *list) {
            auto const* const whole = std::get_if<std::int64_t>(&v.data);
            auto const* const real = std::is_same_v<T, double> ? std::get_if<double>(&v.data) : nullptr;
            if (whole == nullptr && real == nullptr)
                return refuse(v.at, fmt::format("'{}' must be {}; this entry is {}", key, wanted, kind_of(v)));
            T const n = whole != nullptr ? static_cast<T>(*whole) : static_cast<T>(*real);
            if (n != 0 && !(n >= least && n <= most))
                return refuse(v.at, fmt::format("'{}' has the entry {}; write 0, or a number from {} to {}", key, n,
                                                least, most));
            out.push_back(n);
        }
        if (out.size() < 2 || out.front() != 0 || out.size() > most_devices + 1)
            return refuse(
                keys_.place_of(key),
                fmt::format("'{}' begins with 0 for no device, then one device, and so on; write {}", key, wanted));
        into = std::move(out);
    }
};

/// One of `min` and `max`.
void read_bound(table_reader& keys, std::string_view of, std::string_view key, std::int64_t least, std::int64_t most,
                std::int64_t& into, diagnostics& problems) {
    auto const* const n = keys.take<std::int64_t>(key, "a whole number");
    if (n == nullptr) return;
    if (*n < least || *n > most)
        problems.add(keys.place_of(key),
                     fmt::format("{}.{} is {}; write a number from {} to {}", of, key, *n, least, most));
    else
        into = *n;
}

[[nodiscard]] bounds read_range(table const& from, std::string_view of, std::int64_t most, diagnostics& problems) {
    bounds out{1, unlimited};
    table_reader keys(from, fmt::format("'{}'", of), problems);
    read_bound(keys, of, "min", 1, most, out.minimum, problems);
    read_bound(keys, of, "max", 1, most, out.maximum, problems);
    keys.report_all_unknown();
    if (out.minimum > out.maximum)
        problems.add(keys.place_of("min"), fmt::format("{}.min is more than {}.max; make it at most as much", of, of));
    return out;
}

/// In thousandths; nothing, and a problem, where it is out of range.
[[nodiscard]] std::int64_t read_part(table_reader& keys, std::string_view key, std::string_view what, double least,
                                     double most, diagnostics& problems) {
    auto const part = keys.take_number(key, fmt::format("a number, {}", what));
    if (!part || (*part >= least && *part <= most)) return std::llround(part.value_or(0) * 1000);
    problems.add(keys.place_of(key),
                 fmt::format("devices.{} is {}; write {} from {} to {}", key, *part, what, least, most));
    return 0;
}

/// Devices that are parts: of the CPU, or of one GPU.
void read_parts(table const& from, position at, device_config& into, diagnostics& problems) {
    table_reader keys(from, "'devices'", problems);
    auto const before = problems.size();
    auto const* const count = keys.take<std::int64_t>("count", "a whole number of devices");
    auto const cpu = read_part(keys, "cpu", "a number of cores", least_device_cores, most_device_cores, problems);
    auto const gpu = read_part(keys, "gpu", "a part of a GPU", least_gpu, most_gpu, problems);
    keys.report_all_unknown();
    auto const has = [&keys](std::string_view key) { return keys.place_of(key).line != 0; };
    if (!has("count") || has("cpu") == has("gpu"))
        problems.add(at, fmt::format("'devices' needs count, and either cpu or gpu; write {}", devices_wanted));
    else if (count != nullptr && (*count < 1 || *count > most_devices))
        problems.add(keys.place_of("count"),
                     fmt::format("devices.count is {}; write a number from 1 to {}", *count, most_devices));
    else if (count != nullptr && *count * gpu > 1000)
        problems.add(keys.place_of("gpu"),
                     fmt::format("{} shares of {:g} are more than one GPU; write fewer or smaller ones", *count,
                                 static_cast<double>(gpu) / 1000));
    if (problems.size() == before) {
        into.count = static_cast<std::uint32_t>(*count);
        into.each = {cpu};
        into.per_mille = gpu;
    }
}

}  // namespace

device_config read_devices(table_reader& root, diagnostics& problems) {
    device_config out;
    value const* const v = root.take("devices");
    if (v == nullptr) return out;
    out.at = v->at;
    auto const* const word = std::get_if<std::string>(&v->data);
    auto const* const from = std::get_if<table>(&v->data);
    if (word == nullptr && from == nullptr) {
        root.wrong_kind("devices", *v, devices_wanted);
        return out;
    }
    if (word != nullptr) {
        if (*word != "gpus")
            problems.add(v->at, fmt::format("unknown devices {}{}; write {}", quoted(*word),
                                            suggestion(*word, {"gpus"}), devices_wanted));
        return out;
    }
    read_parts(*from, v->at, out, problems);
    return out;
}

/// How much memory each GPU has to have.
void read_gpu_memory(table_reader& bounds, elastic_config& into, diagnostics& problems) {
    auto const* const text = bounds.take<std::string>("gpu_memory", "a size in quotes, such as \"40GiB\"");
    if (text == nullptr) return;
    into.gpu_memory_at = bounds.place_of("gpu_memory");
    auto const size = parse_size(*text);
    if (!size || size->count == 0)
        problems.add(
            into.gpu_memory_at,
            fmt::format("gpu_memory {} is not a size; write a number and a unit, such as \"40GiB\"", quoted(*text)));
    else
        into.gpu_memory = *size;
}

std::optional<elastic_config> read_device_bounds(table_reader& bounds, diagnostics& problems) {
    value const* const gpu = bounds.take("gpu");
    auto const* const batch =
        bounds.take<table>("batch", "a table in samples per step, such as { min = 32, max = 512 }");
    if (gpu == nullptr) {
        if (batch != nullptr)
            problems.add(
                bounds.place_of("batch"),
                "bounds on the batch are for a job with devices; add gpu = { min = 1, max = 4 }, or leave them out");
        if (bounds.take("gpu_memory") != nullptr)
            problems.add(bounds.place_of("gpu_memory"),
                         "gpu_memory is for a job with GPUs; add gpu = { min = 1, max = 4 }, or leave it out");
        return std::nullopt;
    }
    elastic_config out;
    out.at = gpu->at;
    read_gpu_memory(bounds, out, problems);
    if (auto const* const exactly = std::get_if<std::int64_t>(&gpu->data))
        if (*exactly < 1 || *exactly > most_devices)
            problems.add(gpu->at,
                         fmt::format("gpu is {}; write a number of devices from 1 to {}", *exactly, most_devices));
        else
            out.devices = {*exactly, *exactly};
    else if (auto const* const from = std::get_if<table>(&gpu->data))
        out.devices = read_range(*from, "gpu", most_devices, problems);
    else
        bounds.wrong_kind("gpu", *gpu, gpu_wanted);
    if (batch != nullptr) out.batch = read_range(*batch, "batch", most_batch, problems);
    return out;
}

void read_elastic(table_reader& job, std::string const& title, std::optional<elastic_config>& into,
                  diagnostics& problems) {
    if (into) return elastic_reader(job, *into, problems).read();
    for (std::string_view const key : {"speedup", "batch", "checkpoint", "restart_cost", "nodes", "deadlines"})
        if (job.take(key) != nullptr)
            problems.add(
                job.place_of(key),
                fmt::format(
                    "'{}' is for a job with devices; add bounds = {{ gpu = {{ min = 1, max = 4 }} }} to {}, or leave it out",
                    key, title));
}

}  // namespace ration::program
