// SPDX-License-Identifier: Apache-2.0
package io.tributary;

import java.util.List;
import javax.management.ConstructorParameters;

/** One signature and what was written under it. */
public final class CallPath {
    private final String signature;
    private final long writes, bytes;
    private final List<String> frames;

    @ConstructorParameters({"signature", "writes", "bytes", "frames"})
    public CallPath(String signature, long writes, long bytes, List<String> frames) {
        this.signature = signature;
        this.writes = writes;
        this.bytes = bytes;
        this.frames = frames;
    }

    /** 16 hexadecimal digits, as in traces and state files. */
    public String getSignature() {
        return signature;
    }

    public long getWrites() {
        return writes;
    }

    public long getBytes() {
        return bytes;
    }

    /** Innermost first. */
    public List<String> getFrames() {
        return frames;
    }
}
