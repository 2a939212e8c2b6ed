// SPDX-License-Identifier: Apache-2.0
package io.tributary.bench;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.FSDirectory;

/**
 * An index of Lucene: a document for each row, replaced as a whole. As in Elasticsearch, what was written is read from
 * memory until a refresh shows it, and commits come less often than refreshes.
 */
public class LuceneStore extends EmbeddedStore {
    private static final int WRITES_PER_REFRESH = 1000, REFRESHES_PER_COMMIT = 5;
    private static final AtomicInteger WRITES = new AtomicInteger();
    private static IndexWriter writer;
    private static SearcherManager searchers;
    private static final ConcurrentHashMap<String, Map<String, String>> UNSEEN = new ConcurrentHashMap<>();
    private static final ReadWriteLock REFRESH = new ReentrantReadWriteLock();

    @Override
    void open(Path folder) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer()).setRAMBufferSizeMB(4);
        writer = new IndexWriter(FSDirectory.open(folder), config);
        searchers = new SearcherManager(writer, null);
    }

    @Override
    void close() throws Exception {
        searchers.close();
        writer.close();
        writer.getDirectory().close();
    }

    @Override
    Map<String, String> get(String key) throws Exception {
        Map<String, String> unseen = UNSEEN.get(key);
        if (unseen != null)
            return new HashMap<>(unseen);
        IndexSearcher searcher = searchers.acquire();
        try {
            TopDocs found = searcher.search(new TermQuery(new Term("id", key)), 1);
            if (found.scoreDocs.length == 0)
                return null;
            return Rows.row(searcher.storedFields().document(found.scoreDocs[0].doc).getBinaryValue("fields").bytes);
        } finally {
            searchers.release(searcher);
        }
    }

    @Override
    void put(String key, Map<String, String> row) throws Exception {
        Document document = new Document();
        document.add(new StringField("id", key, Field.Store.NO));
        document.add(new StoredField("fields", Rows.bytes(row)));
        REFRESH.readLock().lock();
        try {
            writer.updateDocument(new Term("id", key), document);
            UNSEEN.put(key, new HashMap<>(row));
        } finally {
            REFRESH.readLock().unlock();
        }
        int writes = WRITES.incrementAndGet();
        if (writes % WRITES_PER_REFRESH == 0)
            refresh(writes / WRITES_PER_REFRESH % REFRESHES_PER_COMMIT == 0);
    }

    private static void refresh(boolean commit) throws Exception {
        REFRESH.writeLock().lock();
        try {
            searchers.maybeRefreshBlocking();
            UNSEEN.clear();
        } finally {
            REFRESH.writeLock().unlock();
        }
        if (commit)
            writer.commit();
    }

    @Override
    void remove(String key) throws Exception {
        writer.deleteDocuments(new Term("id", key));
        refresh(false);
    }
}
