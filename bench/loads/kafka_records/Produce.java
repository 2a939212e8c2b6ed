// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Goes on with every topic where its log ends, a record for each in turn, until `records` of each topic, `seconds`, or
 * the first that the server does not take. Prints a line at the first acknowledgement, and at the end as one line of
 * JSON how far each partition is acknowledged. */
public final class Produce {
    private final Settings settings;
    private final Records records;
    private final Map<Topic, long[]> next = new EnumMap<>(Topic.class);
    private final Map<Topic, AtomicLongArray> acknowledged = new EnumMap<>(Topic.class);
    private final AtomicBoolean begun = new AtomicBoolean();
    private final AtomicReference<String> failure = new AtomicReference<>();

    private Produce(Settings settings) {
        this.settings = settings;
        records = settings.records();
    }

    public static void main(String[] arguments) throws Exception {
        Produce produce = new Produce(new Settings(arguments));
        produce.findEnds();
        long began = System.nanoTime(), sent = produce.send();
        produce.print(sent, (System.nanoTime() - began) / 1e9);
        System.exit(produce.failure.get() == null ? 0 : 1);
    }

    private void findEnds() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", settings.servers))) {
            Set<String> there = admin.listTopics().names().get();
            List<Topic> missing = Arrays.stream(Topic.values()).filter(topic -> !there.contains(topic.toString()))
                    .collect(Collectors.toList());
            admin.createTopics(missing.stream().map(topic -> topic.create(settings)).collect(Collectors.toList()))
                    .all().get();
            for (Topic topic : Topic.values())
                next.put(topic, missing.contains(topic) ? new long[settings.partitions] : ends(admin, topic));
            next.forEach((topic, ends) -> acknowledged.put(topic, new AtomicLongArray(ends)));
        }
    }

    private long[] ends(Admin admin, Topic topic) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        long[] found = new long[settings.partitions];

        for (int partition = 0; partition < found.length; partition++)
            asked.put(topic.partition(partition), OffsetSpec.latest());
        admin.listOffsets(asked).all().get().forEach((partition, end) -> found[partition.partition()] = end.offset());
        return found;
    }

    private KafkaProducer<byte[], byte[]> producer() {
        String patience = settings.text("patience-ms");
        Map<String, Object> configuration = Map.of("bootstrap.servers", settings.servers, "acks", "all",
                "enable.idempotence", "true", "linger.ms", "5", "request.timeout.ms", "5000",
                "delivery.timeout.ms", patience, "max.block.ms", patience);
        return new KafkaProducer<>(configuration, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** How many of each topic. */
    private long send() throws InterruptedException {
        long wanted = settings.number("records"), rate = settings.number("rate"), began = System.nanoTime(), sent = 0;
        long end = began + settings.number("seconds") * 1_000_000_000L;

        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            for (; sent < wanted && failure.get() == null && (end == began || System.nanoTime() < end); sent++) {
                for (Topic topic : Topic.values())
                    send(producer, topic, (int) (sent % settings.partitions));
                if (rate > 0)
                    Thread.sleep(Math.max(0, (began + sent * 1_000_000_000L / rate - System.nanoTime()) / 1_000_000));
            }
        } catch (RuntimeException refused) {
            failure.compareAndSet(null, refused.toString());
        }
        return sent;
    }

    /** Without duplicates and without gaps a record's number is its offset. */
    private void send(KafkaProducer<byte[], byte[]> producer, Topic topic, int partition) {
        long offset = next.get(topic)[partition]++;
        byte[] key = records.keyBytes(topic, partition, offset), value = records.value(topic, partition, offset);

        producer.send(new ProducerRecord<>(topic.toString(), partition, key, value), (taken, refused) -> {
            if (refused != null)
                failure.compareAndSet(null, refused.toString());
            else if (taken.offset() != offset)
                failure.compareAndSet(null, topic + "-" + partition + ": " + offset + " came to " + taken.offset());
            else
                acknowledge(topic, partition, offset);
        });
    }

    private void acknowledge(Topic topic, int partition, long offset) {
        acknowledged.get(topic).set(partition, offset + 1);
        if (!begun.getAndSet(true))
            System.out.println("begun");
    }

    private void print(long sent, double seconds) {
        String ends = acknowledged.entrySet().stream().map(entry -> "\"" + entry.getKey() + "\": " + entry.getValue())
                .collect(Collectors.joining(", "));
        String why = failure.get();
        String refused = why == null ? "" : ", \"failure\": \"" + why.replaceAll("[\"\\\\\\n]", " ") + "\"";
        System.out.printf("{\"records\": %d, \"seconds\": %.3f, \"acknowledged\": {%s}%s}%n",
                sent * Topic.values().length, seconds, ends, refused);
    }
}
