import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own Cleaner, with a clock of ours: one round per line of input, so that one JVM judges hundreds of logs.
 *
 * A line is "directory firstDirty uncleanable highWatermark nowMs deleteRetentionMs segmentBytes". The directory, named
 * like a log's, holds *.log files and nothing else; the last is the active one. It is opened as after a crash (indexes,
 * transactions and producers are found in the segments), cleaned, and closed. The answer is "end <offset>", the first
 * offset that was not cleaned, or "failed <why>". Segments of which nothing was left remain as empty files.
 */
public final class CleanLogs {
    private static final int PRODUCER_ID_EXPIRATION_MS = 86_400_000;

    public static void main(String[] ignored) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = "end " + clean(line.split(" "));
            } catch (Exception | AssertionError error) {
                error.printStackTrace();
                answer = "failed " + error.toString().replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private static long clean(String[] words) throws Exception {
        File directory = new File(words[0]);
        long firstDirty = Long.parseLong(words[1]);
        long uncleanable = Long.parseLong(words[2]);
        long highWatermark = Long.parseLong(words[3]);
        long nowMs = Long.parseLong(words[4]);
        FixedTime time = new FixedTime(nowMs);
        // Nobody expires while the log is loaded, which is done segment by segment: only by the clock of the round.
        ProducerStateManagerConfig producers = new ProducerStateManagerConfig(Integer.MAX_VALUE, false);
        UnifiedLog log = UnifiedLog.create(
            directory, config(words[5], words[6]), 0L, 0L, new NoScheduler(), new BrokerTopicStats(), time, 300_000,
            producers, PRODUCER_ID_EXPIRATION_MS,
            new LogDirFailureChannel(1), false, Optional.empty());
        try {
            log.updateHighWatermark(highWatermark);
            producers.setProducerIdExpirationMs(PRODUCER_ID_EXPIRATION_MS);
            log.removeExpiredProducers(nowMs);
            Throttler throttler = new Throttler(Double.MAX_VALUE, 1000, "cleaner", "bytes", time);
            Cleaner cleaner = new Cleaner(
                0, new SkimpyOffsetMap(1 << 20), 1 << 16, 1 << 24, 0.9, throttler, time, partition -> { });
            return cleaner.doClean(new LogToClean(log, firstDirty, uncleanable, true), nowMs).getKey();
        } finally {
            log.close();
        }
    }

    private static LogConfig config(String deleteRetentionMs, String segmentBytes) {
        Map<String, String> settings = new HashMap<>();
        settings.put("cleanup.policy", "compact");
        settings.put("delete.retention.ms", deleteRetentionMs);
        settings.put("internal.segment.bytes", segmentBytes);
        settings.put("segment.index.bytes", "65536");
        settings.put("max.message.bytes", "16777216");
        return new LogConfig(settings);
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    /** A clock that stands. */
    private record FixedTime(long milliseconds) implements Time {
        @Override
        public long nanoseconds() {
            return milliseconds * 1_000_000;
        }

        @Override
        public void sleep(long ms) { }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
    }

    /** Nothing is done later: replaced segments keep their ".deleted" names. */
    private static final class NoScheduler implements Scheduler {
        private static final ScheduledFuture<?> DONE =
            Executors.newSingleThreadScheduledExecutor(CleanLogs::daemon).schedule(() -> { }, 0, TimeUnit.MILLISECONDS);

        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            return DONE;
        }

        @Override
        public void resizeThreadPool(int newSize) { }
    }
}
