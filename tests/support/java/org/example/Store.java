// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.logging.FileHandler;
import java.util.logging.Logger;

/** A small store: a log, a table that is flushed and compacted through the same writer, a mapped file, a report. */
public class Store {
    private static final int BLOCK_BYTES = 8192;
    private final Path folder;

    Store(Path folder) {
        this.folder = folder;
    }

    private void append(FileChannel channel, byte fill) throws Exception {
        ByteBuffer block = ByteBuffer.allocateDirect(BLOCK_BYTES);
        while (block.hasRemaining())
            block.put(fill);
        block.flip();
        channel.write(block);
    }

    private void writeTable(String name, int blocks) throws Exception {
        try (FileChannel channel = FileChannel.open(folder.resolve(name), StandardOpenOption.CREATE,
                                                    StandardOpenOption.WRITE)) {
            for (int i = 0; i < blocks; i++)
                append(channel, (byte) 't');
            channel.force(true);
        }
    }

    private void flush(int number, int blocks) throws Exception {
        writeTable("flush-" + number, blocks);
    }

    private void compact(int number, int blocks) throws Exception {
        writeTable("compact-" + number, blocks);
    }

    private void log(RandomAccessFile file, int records) throws Exception {
        byte[] record = new byte[100];
        for (int i = 0; i < records; i++)
            file.write(record);
    }

    private void mapped(int pages) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(folder.resolve("mapped").toFile(), "rw")) {
            file.setLength(pages * 4096L);
            MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, pages * 4096L);
            for (int i = 0; i < pages; i++)
                map.put(i * 4096, (byte) 1);
            map.force();
        }
    }

    private void report() throws Exception {
        try (FileOutputStream out = new FileOutputStream(folder.resolve("report").toFile())) {
            out.write("done\n".getBytes());
        }
    }

    private static void checksum(FileChannel channel, int sum) throws Exception {
        channel.write(ByteBuffer.allocateDirect(4).putInt(0, sum));
    }

    /** Chunks, each with a checksum behind it that another method writes. */
    private void chunks(int count) throws Exception {
        try (FileChannel channel = FileChannel.open(folder.resolve("chunks"), StandardOpenOption.CREATE,
                                                    StandardOpenOption.WRITE)) {
            for (int i = 0; i < count; i++) {
                append(channel, (byte) 'c');
                checksum(channel, i);
            }
        }
    }

    private FileChannel open(String name) throws Exception {
        return FileChannel.open(folder.resolve(name), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** Deeper than what of a path is kept by default. */
    private void deep(FileChannel channel, int left) throws Exception {
        if (left > 0)
            deep(channel, left - 1);
        else
            append(channel, (byte) 'd');
    }

    private void recursion() throws Exception {
        try (FileChannel channel = open("deep")) {
            deep(channel, 10);
        }
    }

    private static void put(FileChannel channel, int value) throws Exception {
        channel.write(ByteBuffer.allocateDirect(4).putInt(0, value));
    }

    private static void put(FileChannel channel, long value) throws Exception {
        channel.write(ByteBuffer.allocateDirect(8).putLong(0, value));
    }

    /** Two methods of one name. */
    private void overloads() throws Exception {
        try (FileChannel ints = open("ints"); FileChannel longs = open("longs")) {
            put(ints, 1);
            put(longs, 1L);
        }
    }

    private static void warn(Logger audit) {
        audit.warning("from here");
    }

    private void audit() throws Exception {
        Logger audit = Logger.getAnonymousLogger();
        FileHandler file = new FileHandler(folder.resolve("audit").toString());
        audit.setUseParentHandlers(false);
        audit.addHandler(file);
        audit.info("from there");
        warn(audit);
        file.close();
    }

    private void round(ExecutorService pool, int number, int blocks) throws Exception {
        Callable<Void> flush = () -> {
            flush(number, blocks);
            return null;
        };
        Callable<Void> compact = () -> {
            compact(number, blocks);
            return null;
        };
        pool.submit(flush).get();
        pool.submit(compact).get();
    }

    /** folder, rounds, blocks of a table, seconds to stay alive at the end (for those who attach) */
    public static void main(String[] arguments) throws Exception {
        Store store = new Store(Path.of(arguments[0]));
        int rounds = Integer.parseInt(arguments[1]), blocks = Integer.parseInt(arguments[2]);
        long seconds = Long.parseLong(arguments[3]);
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try (RandomAccessFile log = new RandomAccessFile(store.folder.resolve("log").toFile(), "rw")) {
            for (int i = 0; i < rounds; i++) {
                store.log(log, 10);
                store.round(pool, i, blocks);
            }
            for (long end = System.nanoTime() + seconds * 1000000000L; System.nanoTime() < end; Thread.sleep(10))
                store.log(log, 1);
        }
        store.mapped(16);
        store.chunks(10);
        store.audit();
        store.report();
        store.recursion();
        store.overloads();
        for (int i = 0; i < rounds; i++) // last, so that no file gets the number of another
            Files.delete(store.folder.resolve("flush-" + i));
        pool.shutdown();
        System.out.println("stored");
    }
}
