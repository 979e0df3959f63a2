// SPDX-License-Identifier: BSL-1.0
// The worker of the tests: of a plugin, or of the policy that its argument names.
#include <memory>
#include <string>
#include <string_view>

#include <ration/plugin/host/worker_main.hpp>

#include "policies/counter.hpp"
#include "policies/follower.hpp"

namespace {

using namespace ration;

[[nodiscard]] std::unique_ptr<any_policy> make_counter(std::string_view config, std::string& why) {
    test_policies::counter_parameters given;
    text<255> wrong;
    if (!config.empty() && !parameter_access<test_policies::counter_parameters>::read(config, given, wrong)) {
        why = wrong.c_str();
        return nullptr;
    }
    return std::make_unique<policy_adapter<test_policies::counter>>(test_policies::counter(given));
}

[[nodiscard]] std::unique_ptr<any_policy> make_follower(std::string_view, std::string&) {
    return std::make_unique<policy_adapter<test_policies::follower>>();
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) return plugin::worker_main();
    return plugin::worker_main(std::string_view(words[1]) == "counter" ? make_counter : make_follower);
}
