// SPDX-License-Identifier: BSL-1.0
// Requests of `ration decide`: any bytes have one answer, a refused request changes nothing, and no values of the
// tables harm a policy. The first byte chooses the policy. Then come requests, an empty line after each. One that
// begins with
// '{' is sent as it is; any other changes a sound request: "/jobs/0/id 7" puts 7 in the place of that id.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/policies/equal_share.hpp>

#include "decide/row_key.hpp"
#include "decide/session.hpp"
#include "events/json_reader.hpp"
#include "json_pointer.hpp"
#include "shipped_policies.hpp"
#include "support.hpp"

namespace policies = ration::policies;
namespace program = ration::program;
using fuzz::require;
using nlohmann::json;

namespace {

using maker = std::unique_ptr<ration::any_policy> (*)();
template <class P>
[[nodiscard]] std::unique_ptr<ration::any_policy> make() {
    return std::make_unique<ration::policy_adapter<P>>();
}
/// equal_share, and all that the program has compiled in besides.
[[nodiscard]] std::vector<maker> const& makers() {
    static std::vector<maker> const all = [] {
        std::vector<maker> list{make<policies::equal_share>};
        program::for_each_shipped_policy([&]<class P>(std::string_view) { list.push_back(make<P>); });
        return list;
    }();
    return all;
}

/// Each key has a value, so that no policy refuses the request.
[[nodiscard]] json row_of(ration::table_id table, int id) {
    json row{{"id", id}};
    for (auto const& key : program::keys_of(table)) {
        bool const is_float = key.type == ration::column_type::f64;
        json const value = key.form == program::value_form::state ? json(id == 1 ? "running" : "queued")
                           : is_float                             ? json(1.0 + id)
                                                                  : json(2 + id);
        bool const is_vector = key.shape == ration::column_shape::vector;
        row[key.name] = is_vector ? json::array({value, value, value}) : value;
    }
    return row;
}
[[nodiscard]] json sound_request() {
    json request{{"t", 5'000'000'000}, {"seed", 1}};
    for (int id : {1, 2, 3}) request["jobs"].push_back(row_of(ration::table_id::jobs, id));
    for (int id : {1, 2}) request["nodes"].push_back(row_of(ration::table_id::nodes, id));
    request["held"].push_back({{"job", 1}, {"node", 1}, {"resource", "gpu"}, {"amount", 2}});
    return request;
}

[[nodiscard]] std::string request_from(std::string_view text) {
    static json const sound = sound_request();
    if (text.starts_with('{')) return std::string(text);
    auto request = sound;
    for (auto const line : fuzz::split(text, '\n')) {
        auto const blank = std::min(line.find(' '), line.size());
        auto value = program::parse_json(line.substr(std::min(blank + 1, line.size())));
        auto* const place = fuzz::value_at(request, line.substr(0, blank));
        if (place != nullptr && !value.is_discarded()) *place = std::move(value);
    }
    return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Without what depends on the clock.
[[nodiscard]] json answer_of(program::decide_session& session, std::string_view line) {
    auto const text = session.answer(line);
    require(fuzz::is_one_line(text), "an answer is not one line of UTF-8");
    auto answer = json::parse(text, nullptr, false);
    require(answer.is_object() && answer.contains("grants") != answer.contains("error"),
            "an answer is neither grants nor an error");
    if (answer.contains("error")) {
        auto const& e = answer["error"];
        fuzz::require_sentence(e.at("message").get<std::string>());
        fuzz::require_sentence(e.at("fix").get<std::string>(), 8000);
        require(e.at("column") >= 1 && e.at("column") <= line.size() + 1, "an error is beyond its line");
    }
    require(!answer.contains("rejected") || answer["rejected"].empty(), "a grant of a shipped policy is refused");
    answer.erase("took");
    return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input input(data, size);
    auto const policy = input.take<std::uint8_t>() % makers().size();
    program::decide_session session(makers()[policy]());
    std::vector<std::string> accepted;
    auto rest = input.rest();
    constexpr int most_requests = 8;
    for (int i = 0; i < most_requests && !rest.empty(); ++i) {
        auto const end = rest.find("\n\n");
        auto line = request_from(rest.substr(0, end));
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
        std::ranges::replace(line, '\n', ' ');
        if (!answer_of(session, line).contains("error")) accepted.push_back(std::move(line));
    }
    // equal_share has no memory and no clock, so the accepted requests alone have to end in the same answer.
    if (policy != 0 || accepted.empty()) return 0;
    program::decide_session accepting(makers()[policy]());
    for (auto const& line : accepted) static_cast<void>(answer_of(accepting, line));
    auto const first = answer_of(session, "{}"), second = answer_of(accepting, "{}");
    require(first == second, "a refused request has changed the tables");
    return 0;
}
