/* SPDX-License-Identifier: Apache-2.0 */
#include <tributary/pipeline.h>
