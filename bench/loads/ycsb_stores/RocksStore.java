// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/** RocksDB through rocksdbjni, with tables small enough to be flushed and compacted in a run of minutes. */
public class RocksStore extends EmbeddedStore {
    private static RocksDB db;

    @Override
    void open(Path folder) throws Exception {
        RocksDB.loadLibrary();
        try (Options options = new Options()) {
            options.setCreateIfMissing(true).setWriteBufferSize(4 << 20).setTargetFileSizeBase(4 << 20);
            options.setMaxBytesForLevelBase(16 << 20).setCompressionType(CompressionType.NO_COMPRESSION);
            db = RocksDB.open(options, folder.toString());
        }
    }

    @Override
    void close() {
        db.close();
    }

    private static byte[] bytes(String key) {
        return key.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    Map<String, String> get(String key) throws Exception {
        byte[] found = db.get(bytes(key));
        return found == null ? null : Rows.row(found);
    }

    @Override
    void put(String key, Map<String, String> row) throws Exception {
        db.put(bytes(key), Rows.bytes(row));
    }

    @Override
    void remove(String key) throws Exception {
        db.delete(bytes(key));
    }
}
