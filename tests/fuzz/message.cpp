// SPDX-License-Identifier: BSL-1.0
// Progress messages P1: what the parser accepts is within its bounds, and reads the same after it was printed.
#include <charconv>
#include <string>

#include <ration/progress/message.hpp>

#include "progress/invariants.hpp"
#include "support.hpp"

namespace progress = ration::progress;

namespace {

[[nodiscard]] std::string number(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

/// KEY=VALUE for everything that a message of this type may carry and that is not left out.
class printer {
    progress::message const& from_;
    std::string out_;

    void add(std::string_view key, std::string_view value) { out_.append(" ").append(key).append("=").append(value); }
    void add_unless_zero(std::string_view key, std::uint64_t value) {
        if (value != 0) add(key, std::to_string(value));
    }
    void add_unless_empty(std::string_view key, std::string_view value) {
        if (!value.empty()) add(key, value);
    }

    void add_step() {
        auto const& reply = from_.body;
        add("s", std::to_string(reply.step));
        add("c", std::to_string(reply.loss_count));
        if (reply.loss_count != 0) add("l", number(reply.loss_mean));
        add_unless_zero("nf", reply.non_finite);
        add_unless_zero("x", reply.total_steps);
        add_unless_zero("b", reply.batch);
        add("d", number(reply.step_seconds));
    }
    void add_eval() {
        auto const& reply = from_.body;
        add("s", std::to_string(reply.step));
        add("m", reply.metric);
        if (reply.non_finite == 0)
            add("v", number(reply.value));
        else
            add("nf", std::to_string(reply.non_finite));
    }
    void add_content() {
        constexpr std::string_view phases[] = {"init", "load", "compile", "train", "eval", "save", "idle", "other"};
        using enum progress::message_type;
        auto const& reply = from_.body;
        switch (reply.type) {
            case hello:
                add("w", std::to_string(reply.world));
                add_unless_zero("t", reply.threads);
                add_unless_empty("g", reply.devices);
                return add_unless_empty("rx", reply.control);
            case step: return add_step();
            case eval: return add_eval();
            case checkpoint:
                add("s", std::to_string(reply.step));
                add("ok", reply.durable ? "1" : "0");
                return add("d", number(reply.save_seconds));
            case phase: return add("ph", phases[static_cast<std::size_t>(reply.now)]);
            case acknowledge: add("c", std::to_string(reply.command)); return add("ok", reply.taken_in ? "1" : "0");
            case want: return add("n", std::to_string(reply.wanted));
            case bye: add("rc", std::to_string(reply.exit_code)); return add_unless_empty("why", reply.why);
            case heartbeat:
            case unknown: return;
        }
    }

public:
    explicit printer(progress::message const& from) : from_(from) {}

    [[nodiscard]] std::string text() {
        auto const word = progress::detail::rule_of(from_.body.type).word;
        out_ = "P1 " + std::string(word.empty() ? "other" : word);
        add("e", std::to_string(from_.run.value));
        add("k", from_.token);
        add("j", from_.job);
        add("r", std::to_string(from_.rank));
        add("q", std::to_string(from_.sequence));
        add_content();
        return std::move(out_);
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    auto const broken = progress_test::broken_reservation(bytes);
    fuzz::require(broken.empty(), broken.c_str());
    auto const read = progress::parse_message(bytes);
    if (!read) {
        fuzz::require(fuzz::is_one_line(read.failure().subject), "the subject of an error is not printable");
        fuzz::require(*read.failure().remedy != '\0', "an error has no remedy");
        return 0;
    }
    auto const text = printer(*read).text();
    auto const again = progress::parse_message(text);
    fuzz::require(static_cast<bool>(again), "a message cannot be read after it was printed");
    fuzz::require(printer(*again).text() == text, "a message reads differently after it was printed");
    return 0;
}
