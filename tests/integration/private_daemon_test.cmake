# SPDX-License-Identifier: Apache-2.0
add_dependencies(${name} trib tributary-preload)
