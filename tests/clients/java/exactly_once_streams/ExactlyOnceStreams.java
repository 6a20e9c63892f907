// A Kafka Streams application that copies a topic with processing.guarantee=exactly_once_v2.
// tests/clients/exactly_once.py starts it and says what its options are.

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Produced;

public final class ExactlyOnceStreams {
    public static void main(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] pair = each.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("application.id", options.get("group"));
        settings.put("client.id", options.get("name"));
        settings.put("state.dir", options.get("state"));
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("replication.factor", "1");
        settings.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("main.consumer.auto.offset.reset", "earliest");
        settings.put("main.consumer.session.timeout.ms", options.get("session_ms"));
        settings.put("main.consumer.heartbeat.interval.ms", options.get("heartbeat_ms"));
        settings.put("main.consumer.fetch.max.wait.ms", "100");
        settings.put("producer.transaction.timeout.ms", options.get("transaction_ms"));
        StreamsBuilder builder = new StreamsBuilder();
        int partitions = Integer.parseInt(options.get("partitions"));
        builder.<byte[], byte[]>stream(options.get("input")).to(
            options.get("output"),
            Produced.streamPartitioner((topic, key, value, count) ->
                Optional.of(Collections.singleton(Integer.parseInt(new String(value)) % partitions))));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            say("thread replaced", error);
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
    }

    private static void say(String event, Throwable error) {
        StringBuilder text = new StringBuilder(String.valueOf(error));
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            text.append(" <- ").append(cause);
        }
        String plain = text.toString().replace("\\", "/").replace("\"", "'").replace("\n", " ");
        System.out.println("{\"event\": \"" + event + "\", \"message\": \"" + plain + "\"}");
        System.out.flush();
    }
}
