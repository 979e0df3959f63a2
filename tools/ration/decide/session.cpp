// SPDX-License-Identifier: BSL-1.0
#include "decide/session.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "decide/json_place.hpp"
#include "decide/request_check.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::program {
namespace {

constexpr std::size_t first_jobs = 64, first_nodes = 8;  // a binding starts a worker, so growth is by doubling
constexpr std::size_t most_answer = std::size_t{1} << 18;

/// The names of `check_rule`, by its number.
constexpr std::array<std::string_view, 16> rule_names{
    "passed",           "unknown_job",      "unknown_node",   "unknown_resource", "negative_amount", "amount_too_large",
    "amount_too_small", "unlimited_atomic", "job_not_active", "below_minimum",    "above_maximum",   "divided",
    "duplicate",        "over_capacity",    "broken_group",   "over_tenant_limit"};
static_assert(rule_names.size() == static_cast<std::size_t>(check_rule::over_tenant_limit) + 1);

[[nodiscard]] nanoseconds clock_now() noexcept {
    return {std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

/// Rows of one answer: a job may release and take resources on several nodes, but not on all of a large cluster.
[[nodiscard]] limits limits_for(std::size_t jobs, std::size_t nodes) noexcept {
    limits most{.jobs = std::bit_ceil(std::max(jobs, first_jobs)),
                .nodes = std::bit_ceil(std::max(nodes, first_nodes))};
    most.answer = std::min(most.grants(), std::max(most_answer, 12 * (most.jobs + most.nodes)));
    return most;
}

[[nodiscard]] request_fault syntax_fault(std::string_view line, json_error const& found) {
    constexpr auto fix = "send one JSON object a line";
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {"the line", "is empty", fix, {}};
    if (found.is_number) return {"a number", "is beyond the range of a double", "write a smaller one", {}};
    if (found.near_text.ends_with('N') || found.near_text.ends_with('I'))
        return {
            "the line", "has NaN or Infinity, which are not JSON", "write \"nan\" as a text, or leave the key out", {}};
    return {"the line", fmt::format("is not JSON at {}", quoted(found.near_text)), fix, {}};
}

[[nodiscard]] std::string_view text_of(status reply) noexcept {
    switch (reply) {
        case status::capacity: return "has more grants than there is room for";
        case status::argument: return "refuses a value of the tables";
        case status::no_memory: return "has no memory left";
        case status::deadline: return "has exceeded its time";
        default: return "has failed";
    }
}

}  // namespace

std::string_view name_of_rule(check_rule rule) noexcept { return rule_names[static_cast<std::size_t>(rule)]; }

decide_session::decide_session(std::unique_ptr<any_policy> policy) : policy_(std::move(policy)), start_(clock_now()) {}

std::string decide_session::answer(std::string_view line) {
    ++line_;
    if (is_nested_deeper(line, most_json_depth))
        return error_as_json({"the line",
                              fmt::format("is nested deeper than {} brackets", most_json_depth),
                              "write rows as objects without further nesting",
                              {}},
                             1);
    auto const json = parse_json(line);
    if (json.is_discarded()) {
        auto const found = find_json_error(line);
        return error_as_json(syntax_fault(line, found), found.column);
    }
    auto const request = read_request(json);
    auto const taken = request ? take(*request) : request.failure();
    if (!taken) return error_as_json(taken.failure(), column_of(line, taken.failure().pointer));
    return answer_to(*request);
}

std::string decide_session::refuse_long_line() {
    ++line_;
    return error_as_json({"the line",
                          fmt::format("has more than {} bytes", most_request_bytes),
                          "send only the changed rows, or fewer keys",
                          {}},
                         1);
}

result<void, request_fault> decide_session::take(client_request const& request) {
    if (request.t && *request.t < last_.count)
        return request_fault{"t", fmt::format("is {}, before the {} of an earlier request", *request.t, last_.count),
                             "write times that do not go back", "/t"};
    auto const widths = check_request(request, tables_, *policy_);
    if (!widths) return widths.failure();
    tables_.apply(request, *widths);
    last_ = request.t ? nanoseconds(*request.t) : std::max(last_, clock_now() - start_);
    return {};
}

result<void, request_fault> decide_session::bind() {
    std::size_t const jobs = tables_.jobs().size(), nodes = tables_.nodes();
    if (jobs <= bound_.jobs && nodes <= bound_.nodes && schema_ == tables_.schema()) return {};
    auto const most = limits_for(std::max(jobs, bound_.jobs), std::max(nodes, bound_.nodes));
    schema_ = 0;
    if (auto const bound = policy_->bind(tables_.store().schema(), most); !bound)
        return request_fault{std::string(policy_->about().id),
                             to_text(bound.failure()),
                             "choose a policy that reads only columns of docs/decide.md",
                             {}};
    bound_ = most;
    schema_ = tables_.schema();
    space_.resize(most.grants());
    checker_.prepare(tables_.store(), tables_.columns(), standard_resources, most.nodes, most.grants());
    accepted_.reserve(most.grants());
    rejected_.reserve(most.grants());
    return {};
}

std::string decide_session::answer_to(client_request const& request) {
    if (auto const bound = bind(); !bound) return error_as_json(bound.failure(), 1);
    grants answer(space_);
    tick_data const tick{.number = number_,
                         .seed = request.seed.value_or(number_),
                         .now = last_,
                         .budget = decide_budget,
                         .data = tables_.store().view()};
    auto const start = clock_now();
    auto const reply = policy_->decide(tick, answer);
    auto const took = clock_now() - start;
    if (reply != status::ok || answer.overflowed()) return error_as_json(no_answer(reply, answer.overflowed()), 1);
    checker_.check(tables_.held(), answer.rows(), accepted_, rejected_);
    auto out = grants_as_json(answer, took);
    ++number_;
    return out;
}

request_fault decide_session::no_answer(status reply, bool overflowed) const {
    std::string const id(policy_->about().id);
    if (overflowed) return {id, fmt::format("has more than {} grants", space_.size()), "report it to its author", {}};
    auto const trouble = trouble_of(*policy_);
    return {id,
            trouble.empty() ? std::string(text_of(reply)) : "gave no answer: " + trouble,
            is_quarantined(*policy_) ? "start ration decide again, with a policy that answers"
                                     : "leave the jobs as they are, and ask again",
            {}};
}

void decide_session::write_grant(json_writer& json, grant const& g) const {
    auto const or_null = [&](bool is_there, std::string_view key, auto write) {
        json.key(key);
        if (is_there)
            write();
        else
            json.null();
    };
    json.object([&] {
        or_null(g.job < tables_.jobs().size(), "job", [&] { write_value(json, tables_.jobs()[g.job]); });
        or_null(g.node < tables_.nodes(), "node", [&] { write_value(json, tables_.node(g.node)); });
        or_null(g.resource < std::size(standard_resources), "resource",
                [&] { json.value(standard_resources[g.resource].name); });
        json.key("amount");
        if (g.amount == unlimited)
            json.value("unlimited");
        else
            json.value(g.amount);
        json.member("group", g.group);
        json.member("reason", policy_->about().reason(g.reason));
    });
}

std::string decide_session::grants_as_json(grants const& answer, nanoseconds took) const {
    constexpr std::size_t usual_bytes = 96;  // of a grant
    std::string out;
    out.reserve(usual_bytes * (answer.size() + 1));
    json_writer json(out);
    json.object([&] {
        json.member("number", number_);
        json.member("took", took);
        json.key("grants").array([&] {
            for (auto const& g : accepted_) write_grant(json, *g.asked);
        });
        json.key("rejected").array([&] {
            for (auto const& r : rejected_)
                json.object([&] {
                    json.key("grant");
                    write_grant(json, answer.rows()[r.row]);
                    json.member("rule", name_of_rule(r.rule));
                    json.member("detail", name_of(r.rule));
                });
        });
    });
    return out;
}

std::string decide_session::error_as_json(request_fault const& fault, std::uint32_t column) const {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.key("error").object([&] {
            json.member("line", line_);
            json.member("column", column);
            json.member("message", printable(fault.object + ' ' + fault.cause));
            json.member("fix", printable(fault.fix));
        });
    });
    return out;
}

}  // namespace ration::program
