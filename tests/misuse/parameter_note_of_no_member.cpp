// SPDX-License-Identifier: BSL-1.0
// A note that is spelt otherwise than its member: its range would never be checked.
#include <ration/adapt/parameters.hpp>

struct share_parameters {
    double share = 0.5;
#ifdef RATION_MISUSE
    static constexpr ration::parameter_note notes[] = {
        {.name = "shares", .meaning = "of the first job", .least = 0, .most = 1}};
#else
    static constexpr ration::parameter_note notes[] = {
        {.name = "share", .meaning = "of the first job", .least = 0, .most = 1}};
#endif
};
BOOST_HANA_ADAPT_STRUCT(share_parameters, share);

int main() {
    share_parameters given;
    ration::text<255> wrong;
    return ration::parameter_access<share_parameters>::read("{}", given, wrong) ? 0 : 1;
}
