// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartition;

/** Three lives that a record may have: until so many bytes came after it, for ever, until its key is written again. */
enum Topic {
    SHORT(Map.of("cleanup.policy", "delete")),
    LONG(Map.of("cleanup.policy", "delete", "retention.ms", "-1")),
    COMPACTED(Map.of("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.3"));

    /** Of SHORT, each. A topic keeps at least its retention.bytes, and what the segment holds that is being filled. */
    static final int SEGMENTS_KEPT = 2;

    private final Map<String, String> configuration;

    Topic(Map<String, String> configuration) {
        this.configuration = configuration;
    }

    @Override
    public String toString() {
        return name().toLowerCase();
    }

    TopicPartition partition(int number) {
        return new TopicPartition(toString(), number);
    }

    NewTopic create(Settings settings) {
        long segmentBytes = settings.number("segment-bytes");
        Map<String, String> all = new TreeMap<>(configuration);
        all.put("segment.bytes", Long.toString(segmentBytes));
        all.put("file.delete.delay.ms", "1000");
        if (this == SHORT)
            all.put("retention.bytes", Long.toString(SEGMENTS_KEPT * segmentBytes));
        return new NewTopic(toString(), settings.partitions, (short) 1).configs(all);
    }
}
