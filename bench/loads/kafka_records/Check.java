// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads all that is there and compares it, byte by byte, with what was written; nothing that was acknowledged may be
 * missing but what its topic lets go. Prints as one line of JSON how many records each topic has and a checksum of
 * those that every run of as many records must have: all of LONG, the last of SHORT, of COMPACTED each key's last. */
public final class Check {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Settings settings;
    private final Records records;
    private final MessageDigest digest = MessageDigest.getInstance("SHA-256");
    private final Map<Topic, Long> kept = new EnumMap<>(Topic.class);

    private Check(Settings settings) throws Exception {
        this.settings = settings;
        records = settings.records();
    }

    public static void main(String[] arguments) throws Exception {
        Check check = new Check(new Settings(arguments));
        try {
            check.readAll();
        } catch (IllegalStateException wrong) {
            System.err.println(wrong.getMessage());
            System.exit(1);
        }
    }

    private void readAll() {
        Map<String, Object> configuration =
                Map.of("bootstrap.servers", settings.servers, "auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(configuration, new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            for (Topic topic : Topic.values())
                for (int partition = 0; partition < settings.partitions; partition++)
                    kept.merge(topic, new Partition(topic, partition).read(consumer), Long::sum);
        }
        StringBuilder sum = new StringBuilder();
        for (byte part : Arrays.copyOf(digest.digest(), 6))
            sum.append(String.format("%02x", part));
        System.out.printf("{\"short\": %d, \"long\": %d, \"compacted\": %d, \"checksum\": \"%s\"}%n",
                kept.get(Topic.SHORT), kept.get(Topic.LONG), kept.get(Topic.COMPACTED), sum);
    }

    private final class Partition {
        final Topic topic;
        final int number;
        final String name;
        long first, end, sureFrom;
        long[] newest; // COMPACTED: of each key, -1 = never written

        Partition(Topic topic, int number) {
            this.topic = topic;
            this.number = number;
            name = topic + "-" + number;
        }

        long read(KafkaConsumer<byte[], byte[]> consumer) {
            TopicPartition where = topic.partition(number);
            List<TopicPartition> alone = List.of(where);
            long count = 0;

            first = consumer.beginningOffsets(alone).get(where);
            end = consumer.endOffsets(alone).get(where);
            prepare();
            consumer.assign(alone);
            consumer.seekToBeginning(alone);
            for (long position = first, next; position < end; position = next) {
                count += take(consumer.poll(PATIENCE).records(where), position);
                next = consumer.position(where);
                require(next > position, "nothing came from offset " + position + " on");
            }
            require(newest == null || Arrays.stream(newest).allMatch(offset -> offset < 0),
                    "the last record of a key is missing");
            return count;
        }

        /** A batch of the log has a head of 61 bytes, a record one of some 10: less than half of what is kept. */
        void prepare() {
            long acknowledged = Long.parseLong(settings.text("acknowledged." + topic).split(",")[number]);
            long sure = Topic.SEGMENTS_KEPT * settings.number("segment-bytes") / 2 / settings.number("value-bytes");

            require(end >= acknowledged, acknowledged + " records acknowledged, " + end + " there");
            sureFrom = topic == Topic.SHORT ? Math.max(0, end - sure) : 0;
            require(topic == Topic.COMPACTED || first <= sureFrom,
                    sureFrom + " is missing, " + first + " is the first");
            if (topic != Topic.COMPACTED)
                return;
            newest = new long[settings.keys];
            Arrays.fill(newest, -1);
            for (long offset = 0; offset < end; offset++)
                newest[records.key(topic, number, offset)] = offset;
        }

        long take(List<ConsumerRecord<byte[], byte[]>> batch, long position) {
            for (ConsumerRecord<byte[], byte[]> record : batch) {
                require(record.offset() == position || mayLackUntil(record.offset()), position + " is missing");
                compare(record);
                position = record.offset() + 1;
            }
            return batch.size();
        }

        void compare(ConsumerRecord<byte[], byte[]> record) {
            long offset = record.offset();
            require(Arrays.equals(record.key(), records.keyBytes(topic, number, offset)), offset + " has another key");
            require(Arrays.equals(record.value(), records.value(topic, number, offset)), offset + " has another value");
            if (newest == null ? offset >= sureFrom : isNewest(offset)) {
                digest.update(record.key());
                digest.update(record.value());
            }
        }

        boolean isNewest(long offset) {
            int key = records.key(topic, number, offset);
            boolean is = newest[key] == offset;
            if (is)
                newest[key] = -1;
            return is;
        }

        /** SHORT's oldest may go while they are read. */
        boolean mayLackUntil(long offset) {
            return topic == Topic.COMPACTED || offset <= sureFrom;
        }

        void require(boolean holds, String otherwise) {
            if (!holds)
                throw new IllegalStateException(name + ": " + otherwise);
        }
    }
}
