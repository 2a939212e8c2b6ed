// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/** The record at an offset of a partition: for a seed always the same, so that who reads one knows what was written. */
final class Records {
    private final long seed;
    private final int keys, valueBytes;

    /** `keys` of each partition. */
    Records(long seed, int keys, int valueBytes) {
        this.seed = seed;
        this.keys = keys;
        this.valueBytes = valueBytes;
    }

    int key(Topic topic, int partition, long offset) {
        return random(topic, partition, offset).nextInt(keys);
    }

    byte[] keyBytes(Topic topic, int partition, long offset) {
        return ("key-" + key(topic, partition, offset)).getBytes(StandardCharsets.US_ASCII);
    }

    byte[] value(Topic topic, int partition, long offset) {
        SplittableRandom random = random(topic, partition, offset);
        byte[] value = new byte[valueBytes];

        random.nextInt(keys);
        random.nextBytes(value);
        return value;
    }

    private SplittableRandom random(Topic topic, int partition, long offset) {
        long lane = (seed * Topic.values().length + topic.ordinal()) * 0x9e3779b97f4a7c15L + partition;
        return new SplittableRandom((lane * 0xbf58476d1ce4e5b9L) ^ offset);
    }
}
