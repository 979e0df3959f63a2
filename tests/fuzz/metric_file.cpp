// SPDX-License-Identifier: BSL-1.0
// Files with metrics: the first byte of an input chooses the format, the rest is the file.
#include "run/metric_file.hpp"

#include <cmath>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "support.hpp"

namespace progress = ration::progress;
namespace program = ration::program;
using fuzz::require;

namespace {

/// A file in memory.
class memory_file {
    int file_ = ::memfd_create("metrics", MFD_CLOEXEC);

public:
    memory_file() { require(file_ >= 0, "a file in memory can be made"); }
    ~memory_file() { ::close(file_); }
    memory_file(memory_file const&) = delete;
    memory_file& operator=(memory_file const&) = delete;

    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }
    void add(std::string_view text) const {
        require(::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "the file can grow");
    }
};

using values = std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>;  // metric, step, bits

/// The file in two pieces.
[[nodiscard]] values read(program::metric_format format, std::string_view text, std::size_t first) {
    memory_file const file;
    program::metric_file_config const config{
        .path = file.path(), .format = format, .columns = {{"loss", "loss"}, {"accuracy", "a"}}};
    program::metric_file metrics(config, "", {1}, {1}, program::metric_file::existing_rows::read);
    values out;
    auto const take = [&out](progress::update const& update) {
        auto const& body = update.body;
        require(std::isfinite(body.loss_mean + body.value) == (body.non_finite == 0), "a value is counted wrongly");
        bool const is_step = body.type == progress::message_type::step;
        require(is_step ? body.loss_count + body.non_finite == 1 : body.metric == "accuracy", "a value has no metric");
        out.emplace_back(body.metric, body.step, fuzz::bits_of(body.loss_mean + body.value));
    };
    std::int64_t at = 0;
    for (auto const piece : {text.substr(0, first), text.substr(first)}) {
        file.add(piece);
        ++at;
        while (metrics.poll(ration::seconds(at), take)) {
        }
    }
    require(metrics.values().reported() == out.size(), "the values are counted wrongly");
    require(format == program::metric_format::tensorboard || out.size() <= 2 * metrics.rows(),
            "a row has more values than columns");
    require(metrics.problem().size() < 1000, "a problem is long");
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    constexpr program::metric_format formats[] = {program::metric_format::csv, program::metric_format::jsonl,
                                                  program::metric_format::tensorboard};
    auto const format = formats[in.take<std::uint8_t>() % std::size(formats)];
    auto const text = in.rest();
    require(read(format, text, text.size() / 2) == read(format, text, 0), "a file reads differently in pieces");
    return 0;
}
