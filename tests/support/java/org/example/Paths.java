// SPDX-License-Identifier: Apache-2.0
package org.example;

import io.tributary.TributaryAgent;
import io.tributary.TributaryMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import javax.management.JMX;
import javax.management.ObjectName;

/** Threads that write by 1024 call paths each: at each of ten levels one of two methods, by the bits of a number. */
public class Paths {
    private static final int LEVELS = 10, BYTES = 64;

    private final FileChannel channel;
    private final ByteBuffer block = ByteBuffer.allocateDirect(BYTES);

    Paths(FileChannel channel) {
        this.channel = channel;
    }

    private void next(int bits, int level) throws Exception {
        if (level == LEVELS) {
            block.clear();
            channel.write(block, 0);
        } else if ((bits >> level & 1) == 0) {
            zero(bits, level);
        } else {
            one(bits, level);
        }
    }

    private void zero(int bits, int level) throws Exception {
        next(bits, level + 1);
    }

    private void one(int bits, int level) throws Exception {
        next(bits, level + 1);
    }

    private static void write(String folder, int number, int writes) {
        try (FileChannel channel = FileChannel.open(Path.of(folder, "paths-" + number), StandardOpenOption.CREATE,
                                                    StandardOpenOption.WRITE)) {
            Paths paths = new Paths(channel);
            for (int i = 0; i < writes; i++)
                paths.next((i >> 3) * 2654435 + number, 0); // each some times in a row
        } catch (Exception failed) {
            System.out.println(failed);
        }
    }

    /** folder, threads, writes of each */
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(arguments[1])];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> write(arguments[0], number, Integer.parseInt(arguments[2])));
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        TributaryAgent.register();
        TributaryMXBean bean = JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
                                                  new ObjectName(TributaryMXBean.NAME), TributaryMXBean.class);
        Map<String, String> status = bean.getStatus();
        System.err.println(status);
        System.out.println("fast " + status.get("fast") + " wrong " + status.get("wrong") + " checked "
                           + Long.parseLong(status.get("checked")) / 1000 + "k");
    }
}
