// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Writers that come and go: virtual threads, which change carriers between two writes; unloaded classes. Java 21. */
public class Threads {
    private static final int BYTES = 64;

    private static void write(FileChannel channel, int at) throws Exception {
        channel.write(ByteBuffer.allocateDirect(BYTES), (long) at * BYTES);
        if (at % 3 == 0)
            Thread.sleep(1);
        channel.write(ByteBuffer.allocateDirect(BYTES), (long) at * BYTES);
    }

    /** Loaded again and again, by loaders that are then forgotten. */
    public static class Job {
        public void run(FileChannel channel, int at) throws Exception {
            channel.write(ByteBuffer.allocate(BYTES), (long) at * BYTES);
        }
    }

    private static void loadAndRun(FileChannel channel, URL[] classes) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(classes, null)) {
            Object job = loader.loadClass("org.example.Threads$Job").getDeclaredConstructor().newInstance();
            Method run = job.getClass().getMethod("run", FileChannel.class, int.class);
            for (int i = 0; i < 50; i++)
                run.invoke(job, channel, i);
        }
    }

    private static FileChannel open(String folder, String name) throws Exception {
        return FileChannel.open(Path.of(folder, name), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** folder, classes */
    public static void main(String[] arguments) throws Exception {
        FileChannel virtual = open(arguments[0], "virtual"), unloaded = open(arguments[0], "unloaded");
        try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 5000; i++) {
                int at = i;
                pool.submit(() -> {
                    write(virtual, at);
                    return null;
                });
            }
        }
        URL[] classes = {new File(arguments[1]).toURI().toURL()};
        for (int i = 0; i < 100; i++) {
            loadAndRun(unloaded, classes);
            if (i % 20 == 0)
                System.gc();
        }
        System.out.println("done");
    }
}
