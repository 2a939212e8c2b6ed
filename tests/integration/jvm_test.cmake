# SPDX-License-Identifier: Apache-2.0
include(support/jvm.cmake)
