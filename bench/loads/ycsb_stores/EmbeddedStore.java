// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** YCSB on a store in this process; all threads of the client share it. Properties: store.folder, store.checksum. */
public abstract class EmbeddedStore extends DB {
    private static final Object LOCK = new Object();
    private static int users;
    private static Checksum checksum;

    abstract void open(Path folder) throws Exception;

    abstract void close() throws Exception;

    /** Null: there is no such row. */
    abstract Map<String, String> get(String key) throws Exception;

    /** All fields of the row. */
    abstract void put(String key, Map<String, String> row) throws Exception;

    abstract void remove(String key) throws Exception;

    @Override
    public void init() throws DBException {
        synchronized (LOCK) {
            if (users++ > 0)
                return;
            checksum = new Checksum(getProperties());
            try {
                open(Files.createDirectories(Path.of(getProperties().getProperty("store.folder"))));
            } catch (Exception refused) {
                throw new DBException(refused);
            }
        }
    }

    @Override
    public void cleanup() throws DBException {
        synchronized (LOCK) {
            if (--users > 0)
                return;
            try {
                close();
            } catch (Exception refused) {
                throw new DBException(refused);
            }
            checksum.print();
        }
    }

    @Override
    public Status read(String table, String key, Set<String> wanted, Map<String, ByteIterator> result) {
        try {
            Map<String, String> row = get(key);
            if (row == null)
                return Status.NOT_FOUND;
            checksum.add(key, row);
            for (Map.Entry<String, String> field : row.entrySet())
                if (wanted == null || wanted.contains(field.getKey()))
                    result.put(field.getKey(), new StringByteIterator(field.getValue()));
            return Status.OK;
        } catch (Exception failed) {
            return failure(failed);
        }
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        return write(key, new HashMap<>(), values);
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        try {
            synchronized (stripe(key)) {
                Map<String, String> row = get(key);
                return row == null ? Status.NOT_FOUND : write(key, row, values);
            }
        } catch (Exception failed) {
            return failure(failed);
        }
    }

    private static final Object[] STRIPES = new Object[64];

    static {
        for (int i = 0; i < STRIPES.length; i++)
            STRIPES[i] = new Object();
    }

    private static Object stripe(String key) {
        return STRIPES[Math.floorMod(key.hashCode(), STRIPES.length)];
    }

    private Status write(String key, Map<String, String> row, Map<String, ByteIterator> values) {
        try {
            for (Map.Entry<String, ByteIterator> value : values.entrySet())
                row.put(value.getKey(), value.getValue().toString());
            put(key, row);
            return Status.OK;
        } catch (Exception failed) {
            return failure(failed);
        }
    }

    @Override
    public Status delete(String table, String key) {
        try {
            remove(key);
            return Status.OK;
        } catch (Exception failed) {
            return failure(failed);
        }
    }

    @Override
    public Status scan(String table, String from, int count, Set<String> wanted,
                       Vector<HashMap<String, ByteIterator>> result) {
        return Status.NOT_IMPLEMENTED;
    }

    private static Status failure(Exception failed) {
        System.err.println(failed);
        return Status.ERROR;
    }
}
