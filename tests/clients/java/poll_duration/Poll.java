// How to poll with kafka-clients 2.0 and later.

import java.time.Duration;

import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;

final class Poll {
    private Poll() {}

    static ConsumerRecords<byte[], byte[]> once(KafkaConsumer<byte[], byte[]> consumer, long millis) {
        return consumer.poll(Duration.ofMillis(millis));
    }
}
