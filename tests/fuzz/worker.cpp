// SPDX-License-Identifier: BSL-1.0
// What a worker process leaves in the memory that it shares with its host: answers, saved state and log lines. An input
// is what the worker writes, and then the steps of the host.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <ration/plugin/host/worker_answer.hpp>
#include <ration/plugin/host/worker_log.hpp>
#include <ration/plugin/host/worker_memory.hpp>

#include "support.hpp"

namespace plugin = ration::plugin;
using fuzz::require;

namespace {

constexpr std::size_t most_grants = 8, state_capacity = 64;

/// The worker's file, which ends where the sanitizer sees a read behind it.
class shared_file {
    struct free_aligned {
        void operator()(std::byte* place) const noexcept { ::operator delete(place, std::align_val_t{64}); }
    };

public:
    plugin::output_layout const places{most_grants, state_capacity};

private:
    std::unique_ptr<std::byte, free_aligned> bytes_;

public:
    shared_file() : bytes_(static_cast<std::byte*>(::operator new(places.size(), std::align_val_t{64}))) { clear(); }
    void clear() { new (bytes_.get()) plugin::worker_reply; }
    [[nodiscard]] std::byte* begin() const noexcept { return bytes_.get(); }
    [[nodiscard]] plugin::worker_reply& reply() const noexcept {
        return *reinterpret_cast<plugin::worker_reply*>(bytes_.get());
    }
};

/// A size as a worker may state it: small, or anything.
[[nodiscard]] std::uint64_t take_size(fuzz::input& in) {
    auto const small = in.take<std::uint8_t>();
    return small < 200 ? small % 80 : small < 240 ? in.take<std::uint32_t>() : plugin::all_rows - small % 4;
}

void write_reply(shared_file const& file, fuzz::input& in) {
    auto& reply = file.reply();
    reply.count = take_size(in);
    reply.changed_rows = take_size(in);
    reply.written = take_size(in);
    reply.written_again = in.take<std::uint8_t>() % 2;
    for (auto& size : reply.state_size) size = take_size(in);
    for (auto& tick : reply.state_tick) tick = in.take<std::uint8_t>() % 4;
    auto* const list = reinterpret_cast<std::uint32_t*>(file.begin() + file.places.changed);
    for (std::size_t i = 0; i < file.places.most_changed; ++i) list[i] = static_cast<std::uint32_t>(take_size(in));
    for (std::size_t i = 0; i < most_grants; ++i)
        new (file.begin() + file.places.grants + i * sizeof(ration::grant))
            ration::grant{.job = in.take<std::uint8_t>()};
}

void write_log(shared_file const& file, fuzz::input& in) {
    auto& log = file.reply().log;
    log.size = static_cast<std::uint32_t>(take_size(in));
    log.dropped = in.take<std::uint8_t>() % 3;
    auto const text = in.rest().substr(0, 96);
    std::memcpy(log.lines, text.data(), text.size());
}

struct counted_lines {
    std::size_t lines = 0;
    static void take(void* self, std::uint32_t, std::string_view text) {
        require(text.size() <= sizeof(plugin::worker_log::lines), "a log line is longer than the log");
        ++static_cast<counted_lines*>(self)->lines;
    }
};

void read_log(shared_file const& file, std::uint32_t from) {
    counted_lines lines;
    plugin::limited_log limited({&counted_lines::take, &lines});
    auto const read = plugin::read_worker_log(file.reply().log, from, limited);
    require(read == from || (read > from && read <= sizeof(plugin::worker_log::lines)), "a log is read beyond its end");
}

void read_answer(shared_file const& file, plugin::worker_answer& answer, fuzz::input& in) {
    std::size_t const space = in.take<std::uint8_t>() % (most_grants + 4);
    auto const asked = in.take<std::uint8_t>();
    if (asked % 4 == 0) static_cast<void>(answer.await());
    if (asked % 4 == 1) answer.fetch(file.begin(), file.places, space);
    if (asked % 4 < 2) return;
    auto const wrong = answer.take(file.begin(), file.places, 1 + asked / 4U, space);
    require(answer.rows().size() <= std::min(space, most_grants), "an answer has more rows than there is space");
    require(wrong.empty() || (answer.rows().empty() && fuzz::is_one_line(wrong)), "a refused answer has rows");
    bool const whole = file.reply().changed_rows == plugin::all_rows && file.reply().written_again != 0;
    auto const bytes = std::as_bytes(answer.rows());
    require(!whole || bytes.empty() || std::memcmp(bytes.data(), file.begin() + file.places.grants, bytes.size()) == 0,
            "a row is not what the worker wrote");
}

void read_state(shared_file const& file, plugin::worker_memory& memory, fuzz::input& in) {
    auto const tick = in.take<std::uint8_t>() % 4;
    ration::event const happened[2] = {};
    memory.emit(happened, tick, {1});
    if (in.take<std::uint8_t>() % 2 == 1) memory.accept(tick);
    memory.see_saved(file.reply());
    memory.keep(file.begin(), file.places);
    require(memory.state().size() <= state_capacity, "a state is larger than it may be");
    if (in.take<std::uint8_t>() % 8 == 0)
        require(memory.untold().size() <= 2 * plugin::most_worker_events, "more events are repeated than were told");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static shared_file file;
    file.clear();
    plugin::worker_answer answer;
    answer.reserve(most_grants);
    plugin::worker_memory memory;
    fuzz::input in(data, size);
    for (int step = 0; step < 24 && !in.empty(); ++step) {
        switch (in.take<std::uint8_t>() % 5) {
            case 0: write_reply(file, in); break;
            case 1: write_log(file, in); break;
            case 2: read_answer(file, answer, in); break;
            case 3: read_state(file, memory, in); break;
            default: read_log(file, in.take<std::uint8_t>()); break;
        }
    }
    return 0;
}
