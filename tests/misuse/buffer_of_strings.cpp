// SPDX-License-Identifier: BSL-1.0
// A buffer moves its elements by copying their bytes.
#include <string>

#include <ration/buffer.hpp>

#ifdef RATION_MISUSE
template class ration::buffer<std::string>;
#else
template class ration::buffer<char const*>;
#endif
