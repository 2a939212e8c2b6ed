/* SPDX-License-Identifier: Apache-2.0 */
/* Every workload, one file each; registry.c lists them. */
#ifndef TRIB_WORKLOAD_WORKLOADS_H
#define TRIB_WORKLOAD_WORKLOADS_H

#include "workload/workload.h"

extern const struct trib_workload_kind trib_workload_builds;
extern const struct trib_workload_kind trib_workload_hotcold;
extern const struct trib_workload_kind trib_workload_lsm;
extern const struct trib_workload_kind trib_workload_partitions;
extern const struct trib_workload_kind trib_workload_tenants;
extern const struct trib_workload_kind trib_workload_uniform;
extern const struct trib_workload_kind trib_workload_wal_pages;
extern const struct trib_workload_kind trib_workload_zipf;

#endif
