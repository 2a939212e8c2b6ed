# SPDX-License-Identifier: Apache-2.0
target_sources(${name} PRIVATE support/client_inside.c support/recorder_inside.c)
