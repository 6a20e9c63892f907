// A loop of Apache Kafka's own Java client that consumes, transforms and produces in transactions.
// tests/clients/exactly_once.py starts it and says what its options are.

import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApplicationRecoverableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class ExactlyOnce {
    public static void main(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] pair = each.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        try {
            run(options);
        } catch (RuntimeException error) {
            say("ended", error);
            Runtime.getRuntime().halt(3);
        }
    }

    private static void run(Map<String, String> options) {
        Properties reading = new Properties();
        reading.put("bootstrap.servers", options.get("bootstrap"));
        reading.put("group.id", options.get("group"));
        reading.put("client.id", options.get("name"));
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", options.get("records"));
        reading.put("fetch.max.wait.ms", "100");
        reading.put("key.deserializer", ByteArrayDeserializer.class.getName());
        reading.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (options.get("protocol").equals("consumer")) {
            reading.put("group.protocol", "consumer");
        } else {
            reading.put("session.timeout.ms", options.get("session_ms"));
            reading.put("heartbeat.interval.ms", options.get("heartbeat_ms"));
        }
        if (options.containsKey("instance")) {
            reading.put("group.instance.id", options.get("instance"));
        }
        Properties writing = new Properties();
        writing.put("bootstrap.servers", options.get("bootstrap"));
        writing.put("client.id", options.get("name"));
        writing.put("transactional.id", options.get("name"));
        writing.put("transaction.timeout.ms", options.get("transaction_ms"));
        writing.put("key.serializer", ByteArraySerializer.class.getName());
        writing.put("value.serializer", ByteArraySerializer.class.getName());
        Random chance = new Random(Long.parseLong(options.get("seed")));
        int aborted = Integer.parseInt(options.get("aborted_percent"));
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(writing);
             KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading)) {
            producer.initTransactions();
            consumer.subscribe(Collections.singletonList(options.get("input")));
            while (true) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                if (!records.isEmpty()) {
                    transact(producer, consumer, records, options.get("output"), chance.nextInt(100) < aborted);
                }
            }
        }
    }

    private static void transact(
        KafkaProducer<byte[], byte[]> producer,
        KafkaConsumer<byte[], byte[]> consumer,
        ConsumerRecords<byte[], byte[]> records,
        String output,
        boolean isAborted
    ) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        try {
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> each : records) {
                producer.send(new ProducerRecord<>(output, each.partition(), null, each.value()));
                offsets.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            if (isAborted) {
                producer.abortTransaction();
                rewind(consumer);
            } else {
                producer.commitTransaction();
            }
        } catch (ApplicationRecoverableException error) { // a newer producer has fenced this one, for instance
            throw error;
        } catch (KafkaException error) {
            say("aborted", error);
            producer.abortTransaction();
            rewind(consumer);
        }
    }

    /** Reads again from the committed offsets on. */
    private static void rewind(KafkaConsumer<byte[], byte[]> consumer) {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition each : consumer.assignment()) {
            OffsetAndMetadata found = committed.get(each);
            if (found == null) {
                consumer.seekToBeginning(Collections.singletonList(each));
            } else {
                consumer.seek(each, found);
            }
        }
    }

    private static void say(String event, Exception error) {
        StringBuilder text = new StringBuilder(String.valueOf(error));
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            text.append(" <- ").append(cause);
        }
        String plain = text.toString().replace("\\", "/").replace("\"", "'").replace("\n", " ");
        System.out.println("{\"event\": \"" + event + "\", \"message\": \"" + plain + "\"}");
        System.out.flush();
    }
}
