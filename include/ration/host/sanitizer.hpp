// SPDX-License-Identifier: BSL-1.0
/// RATION_SANITIZED: 1 in a build with AddressSanitizer or ThreadSanitizer, otherwise 0. Their
/// run-time libraries reserve terabytes of address space and replace malloc, so code that limits or
/// counts either depends on it. GCC and clang report it in different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RATION_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RATION_SANITIZED 1
#endif
#endif
#ifndef RATION_SANITIZED
#define RATION_SANITIZED 0
#endif
