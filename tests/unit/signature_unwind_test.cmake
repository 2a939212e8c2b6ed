# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/unit/signature_capture_test.cmake)
target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/signature_odd_frames.c)
