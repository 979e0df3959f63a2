// SPDX-License-Identifier: BSL-1.0
/// A plugin in a separate process. The host survives its crashes, hangs and wrong answers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/plugin/host/fault.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_answer.hpp>
#include <ration/plugin/host/worker_brief.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/plugin/host/worker_log.hpp>
#include <ration/plugin/host/worker_memory.hpp>
#include <ration/plugin/host/worker_options.hpp>
#include <ration/plugin/host/worker_process.hpp>

namespace ration::plugin {

/// A tick costs two context switches, a copy of the changed grants and, unless they are shared, one of the columns.
/// The rows stay in this object until the next tick. After a crash or a missed deadline the worker restarts after a
/// growing pause, with the state of its last accepted answer or one at most a second older.
class worker_policy final : public plugin_policy {
    enum class phase : std::uint8_t { down, starting, ready, off };
    struct shared_column {
        table_id table;
        std::uint32_t from_slot = 0;
        std::size_t row_bytes = 0, place = 0, room = 0;
    };

    plugin_file file_;
    std::string config_;
    worker_options options_;
    worker_process process_;
    shared_file input_, output_;
    std::vector<column_info> schema_;  // the columns that it needs, in the host's schema
    std::vector<shared_column> shared_;
    limits most_;
    std::size_t most_grants_ = 0, state_capacity_ = 0;
    phase phase_ = phase::down;
    std::uint32_t sequence_ = 0, log_read_ = 0;
    std::vector<event> events_;  // not sent yet
    worker_answer answer_;
    worker_memory memory_;
    std::uint64_t answered_ = 0;  // number of the tick
    bool last_taken_ = false;
    bool woken_ = false;          // for this tick
    unsigned impatient_for_ = 0;  // answers for which spinning was not enough
    nanoseconds pause_{}, started_{}, again_{};

public:
    worker_policy(plugin_file file, std::string_view config, worker_options options, log_sink log)
        : plugin_policy(file.manifest, log), file_(std::move(file)), config_(config), options_(std::move(options)),
          pause_(options_.first_pause) {}

    /// Tries the constructors and `create` once, in a worker that ends then. Errors: invalid_value with the plugin's
    /// own message; timed_out; io.
    [[nodiscard]] static result<std::unique_ptr<worker_policy>> create(plugin_file file, std::string_view config,
                                                                       worker_options options, log_sink log = {}) {
        auto made = std::make_unique<worker_policy>(std::move(file), config, std::move(options), log);
        if (auto const tried = made->try_out(); !tried) return tried.failure();
        return made;
    }

    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
    [[nodiscard]] bool ends_here() const noexcept override { return false; }
    void end() noexcept override {
        rest();
        phase_ = phase::off;
    }

    /// Starts a worker for this schema. Errors: those of `offers`; invalid_value with the plugin's own message;
    /// timed_out; io.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        if (auto const good = offers(schema, described().manifest()); !good) return good;
        wait_for_state();
        keep_state();
        auto const needed = needs_of(described().manifest());
        schema_.clear();
        for (auto const& column : *needed) schema_.push_back(*find_column(schema, column.name));
        most_ = most;
        most_grants_ = std::min<std::size_t>(most.grants(), 1U << 24);
        events_.reserve(2 * most_worker_events);
        memory_.reserve();
        answer_.reserve(most_grants_);
        state_capacity_ = on_line(std::min<std::size_t>(largest_state, 65536 + 256 * most.jobs));
        if (auto const started = start(false); !started) return started;
        return wait_until_ready();
    }

    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        fault_.kind = fault_kind::none;
        if (phase_ == phase::down && monotonic_now() >= again_) static_cast<void>(start(false));
        if (phase_ == phase::starting) poll_ready();
        if (phase_ != phase::ready)
            return fail(fault_kind::absent, t.number, "is not there: it is started again after a pause");
        ask(t, out.room());
        if (!wait_for_answer(std::max(options_.deadline, t.budget), out.room())) return give_up_on(t.number);
        return take_answer(t.number, out);
    }

    void on_events(std::span<event const> events) noexcept override {
        for (auto const& e : events) {
            if (e.kind == event_kind::grant_rejected) last_taken_ = false;
            // Either all events, or `state_lost`
            if (events_.size() == most_worker_events) events_.assign(1, {.kind = event_kind::state_lost, .at = e.at});
            events_.push_back(e);
        }
    }

    /// The state after the last accepted answer.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override {
        wait_for_state();
        keep_state();
        auto const state = memory_.state();
        if (state.size() <= space.size() && !state.empty()) std::memcpy(space.data(), state.data(), state.size());
        return state.size();
    }
    /// Starts a new worker with this state.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        memory_.replace(saved);
        events_.clear();
        if (!start(false) || !wait_until_ready()) return status::internal;
        return reply().state_lost == 0 ? status::ok : status::state;
    }

private:
    [[nodiscard]] worker_request& request() noexcept { return *reinterpret_cast<worker_request*>(input_.map.data()); }
    [[nodiscard]] worker_reply const& reply() const noexcept {
        return *reinterpret_cast<worker_reply const*>(output_.map.data());
    }
    [[nodiscard]] output_layout places() const noexcept { return {most_grants_, state_capacity_}; }

    [[nodiscard]] result<void> try_out() {
        if (auto const started = start(true); !started) return started;
        auto const ready = wait_until_ready();
        process_.kill();
        phase_ = phase::down;
        return ready;
    }

    /// Makes the worker's files, then the process, which is `starting` until its first answer.
    [[nodiscard]] result<void> start(bool create_only) noexcept {
        process_.kill();
        phase_ = phase::down;
        again_ = monotonic_now() + pause_;
        place_columns();
        std::size_t const output_size = places().size();
        std::size_t const input_size =
            on_line(sizeof(worker_request)) + (shared_.empty() ? 0 : shared_.back().place + shared_.back().room);
        input_ = shared_file::make("ration-input", input_size, PROT_READ | PROT_WRITE, F_SEAL_FUTURE_WRITE);
        output_ = shared_file::make("ration-output", output_size, PROT_READ, 0);
        auto const brief = write_brief(create_only, input_size, output_size);
        if (!input_ || !output_ || !brief)
            return error{.code = errc::io,
                         .operation = "share memory with the worker",
                         .subject = std::string_view(file_.path),
                         .system = errno,
                         .remedy = "free some memory"};
        sequence_ = 1;
        // Before the worker can read it
        (new (input_.map.data()) worker_request)->sequence.store(sequence_, std::memory_order_release);
        int const files[] = {file_.copy.fd(), brief.fd.get(), input_.fd.get(), output_.fd.get(),
                             columns_size() != 0 ? options_.columns->fd() : -1};
        auto process = worker_process::start(options_.program, std::span(files, columns_size() != 0 ? 5 : 4));
        if (!process) return process.failure();
        process_ = std::move(process).value();
        phase_ = phase::starting;
        started_ = monotonic_now();
        emit_again();
        answer_.forget();
        last_taken_ = false;
        log_read_ = 0;
        return {};
    }

    void emit_again() noexcept {
        auto const again = memory_.untold();
        events_.insert(events_.begin(), again.begin(), again.end());
        if (events_.size() > most_worker_events)
            events_.assign(1, {.kind = event_kind::state_lost, .at = events_.back().at});
    }

    [[nodiscard]] std::size_t columns_size() const noexcept {
        return options_.columns == nullptr ? 0 : options_.columns->size();
    }

    void place_columns() noexcept {
        shared_.clear();
        std::size_t at = on_line(sizeof(worker_request));
        for (auto const& c : schema_) {
            std::size_t const room = worker_places::bytes_of(c, most_);
            shared_.push_back({c.table, c.slot, c.width * size_of(c.type), at, room});
            at += room;
        }
    }

    [[nodiscard]] shared_file write_brief(bool create_only, std::size_t input_size,
                                          std::size_t output_size) const noexcept {
        worker_brief const brief{
            .columns = schema_.size(),
            .config_size = config_.size(),
            .state_size = create_only ? 0 : memory_.state().size(),
            .most_jobs = most_.jobs,
            .most_nodes = most_.nodes,
            .most_resources = most_.resources,
            .most_grants = most_grants_,
            .input_size = input_size,
            .output_size = output_size,
            .state_capacity = state_capacity_,
            .columns_size = columns_size(),
            .create_only = create_only ? 1U : 0U,
            .threads = options_.threads && (file_.manifest.flags & RATION_F_OWN_THREADS) != 0 ? 1U : 0U,
            .host = ::getpid()};
        return share_brief(brief, schema_, config_, memory_.state());
    }

    [[nodiscard]] result<void> wait_until_ready() noexcept {
        while (phase_ == phase::starting) {
            wait_while(reply().sequence, 0, milliseconds(5));
            poll_ready();
        }
        if (phase_ == phase::ready) return {};
        phase_ = phase::down;
        return error{.code = fault_.kind == fault_kind::late ? errc::timed_out : errc::invalid_value,
                     .operation = start_operation,
                     .subject = fault_.what.view()};
    }

    void poll_ready() noexcept {
        if (reply().sequence.load(std::memory_order_acquire) == 1) {
            if (reply().code == RATION_OK) {
                phase_ = phase::ready;
                read_log();
                return;
            }
            char sentence[sizeof(worker_reply::sentence)];
            std::memcpy(sentence, reply().sentence, sizeof sentence);
            std::size_t const length = ::strnlen(sentence, sizeof sentence);
            static_cast<void>(
                fail(fault_kind::refused, 0, length == 0 ? text_of(reply().code) : std::string_view(sentence, length)));
        } else if (!process_.alive()) {
            static_cast<void>(fail(fault_kind::died, 0, text<120>("its worker ").append(process_.end())));
        } else if (monotonic_now() - started_ > options_.to_start) {
            static_cast<void>(fail(fault_kind::late, 0, "did not finish load, create and bind in time"));
        } else {
            return;
        }
        rest();
    }

    /// Stops the worker for a pause that doubles each time; for good after the longest pause.
    void rest() noexcept {
        process_.kill();
        read_log();  // its last messages
        phase_ = pause_ > options_.longest_pause ? phase::off : phase::down;
        again_ = monotonic_now() + pause_;
        pause_ = {pause_.count * 2};
    }

    void ask(tick_data const& t, std::size_t capacity) noexcept {
        auto& r = request();
        r.number = t.number;
        r.seed = t.seed;
        r.now = t.now.count;
        r.budget = t.budget.count;
        r.cancel = 0;
        r.capacity = capacity;
        for (std::size_t i = 0; i < table_count; ++i) r.rows[i] = t.data.tables[i]->rows;
        for (std::size_t i = 0; i < shared_.size(); ++i) r.place[i] = show(t.data, shared_[i]);
        r.log_read = std::exchange(log_read_, 0);
        r.accepted = last_taken_ ? 1 : 0;
        if (std::exchange(last_taken_, false)) memory_.accept(answered_);  // once: the next answer may be refused
        r.events = static_cast<std::uint32_t>(events_.size());
        std::copy(events_.begin(), events_.end(), r.event_at);
        memory_.emit(events_, t.number, t.now);
        events_.clear();
        r.known = answer_.await();
        r.save = memory_.wants_state() ? 1 : 0;
        r.sequence.store(++sequence_);  // sequentially consistent: see `await` of the worker
        woken_ = reply().asleep.load() != 0;
        if (woken_) wake(r.sequence);
    }

    [[nodiscard]] std::uint64_t show(snapshot const& data, shared_column const& c) noexcept {
        auto const& table = data[c.table];
        void const* const values = table.slot[c.from_slot];
        if (options_.columns != nullptr && options_.columns->holds(values))
            return options_.columns->offset_of(values) | in_columns;
        std::size_t const used = table.rows * c.row_bytes;
        RATION_ASSERT(on_line(used) <= c.room,
                      "worker: more rows than bind() was told: call it again with higher limits");
        std::memcpy(input_.map.data() + c.place, values, used);
        // Rows that were removed must leave no values
        std::memset(input_.map.data() + c.place + used, 0, on_line(used) - used);
        return c.place;
    }

    /// Spins for as long as most answers take. After a miss, as when the worker needs this core, it spins only briefly
    /// for the next 64 answers, and not at all after it woke the worker.
    [[nodiscard]] bool answers_at_once(std::uint32_t before, nanoseconds at_most, std::size_t room) noexcept {
        constexpr nanoseconds long_wait = milliseconds(5);
        bool const patient = impatient_for_ == 0;
        nanoseconds const patience = patient ? long_wait : woken_ ? nanoseconds{} : short_wait;
        auto const fetch = [&, from = output_.map.data(), at = places()] { answer_.fetch(from, at, room); };
        bool const came = spin_while(reply().sequence, before, std::min(patience, at_most), fetch);
        impatient_for_ = came ? 0 : patient ? 64 : impatient_for_ - 1;
        return came;
    }

    [[nodiscard]] bool wait_for_answer(nanoseconds at_most, std::size_t room) noexcept {
        std::uint32_t const before = sequence_ - 1;
        if (answers_at_once(before, at_most, room)) return true;
        nanoseconds const deadline = monotonic_now() + at_most;
        while (reply().sequence.load(std::memory_order_acquire) == before) {
            nanoseconds const left = deadline - monotonic_now();
            if (left.count <= 0) {
                std::atomic_ref(request().cancel).store(1, std::memory_order_relaxed);
                return false;
            }
            wait_while(reply().sequence, before, std::min(left, milliseconds(2)));
            if (!process_.alive()) return reply().sequence.load(std::memory_order_acquire) != before;
        }
        return true;
    }

    [[nodiscard]] status give_up_on(std::uint64_t tick) noexcept {
        bool const late = process_.alive();
        keep_state();
        rest();
        if (late) return fail(fault_kind::late, tick, "did not answer before its deadline", status::deadline);
        return fail(fault_kind::died, tick, text<120>("its worker ").append(process_.end()));
    }

    /// A late answer could be mistaken for that of the next tick, so a new worker is started.
    [[nodiscard, gnu::cold, gnu::noinline]] status out_of_step(std::uint64_t tick) noexcept {
        keep_state();
        rest();
        return fail(fault_kind::malformed, tick, "answered a tick that was not asked");
    }

    void read_log() noexcept {
        if (output_) log_read_ = read_worker_log(reply().log, log_read_, log_);
    }

    [[nodiscard]] status take_answer(std::uint64_t tick, grants& out) noexcept {
        if (reply().log.size.load(std::memory_order_relaxed) != 0) read_log();
        auto const& r = reply();
        std::int32_t const code = once(r.code);
        if (r.sequence.load(std::memory_order_acquire) != sequence_) return out_of_step(tick);
        memory_.see_saved(r);
        if (once(r.changed) != 0)
            return fail(fault_kind::malformed, tick, "changed a field of the answer that belongs to the host");
        if (once(r.meddled) != 0) return fail(fault_kind::malformed, tick, "changed the floating-point modes");
        if (code != RATION_OK) return fail(fault_kind::refused, tick, text_of(code), known_status(code));
        if (auto const wrong = answer_.take(output_.map.data(), places(), sequence_, out.room()); !wrong.empty())
            return fail(fault_kind::malformed, tick, wrong);
        show(out);
        answered_ = tick;
        last_taken_ = true;
        pause_ = options_.first_pause;
        return status::ok;
    }

    void show(grants& out) const noexcept {
        auto const rows = answer_.rows();
        if (out.show(rows)) return;
        std::ranges::copy(rows, out.unused().begin());
        out.commit(rows.size());
    }

    /// Waits until the worker has saved its state, which it does after its answer and before the next request.
    void wait_for_state() noexcept {
        if (phase_ != phase::ready || !last_taken_) return;
        memory_.accept(answered_);
        nanoseconds const deadline = monotonic_now() + options_.deadline;
        for (std::uint32_t kept = 0; (kept = reply().kept.load(std::memory_order_acquire)) != sequence_ &&
                                     monotonic_now() < deadline && process_.alive();)
            wait_while(reply().kept, kept, milliseconds(1));
    }

    void keep_state() noexcept {
        if (output_) memory_.keep(output_.map.data(), places());
    }
};

}  // namespace ration::plugin
