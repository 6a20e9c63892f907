// The program of kafka-clients for the matrix of transactions. tests/clients/transactions_programs.py describes what it is
// told and what it says.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Transactions {
    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("transactional.id", arguments[2]);
        settings.put("transaction.timeout.ms", arguments[3]);
        settings.put("max.block.ms", arguments[4]);
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
        for (String line = told.readLine(); line != null; line = told.readLine()) {
            try {
                act(producer, arguments[1], line.split(" "));
                System.out.println("ok");
            } catch (Exception error) {
                Throwable cause = error instanceof ExecutionException || error instanceof InvocationTargetException ? error.getCause() : error;
                String text = cause.getClass().getSimpleName() + ": " + cause.getMessage();
                System.out.println("error " + text.replace("\n", " "));
            }
        }
        System.exit(0);
    }

    private static void act(KafkaProducer<String, String> producer, String topic, String[] words) throws Exception {
        switch (words[0]) {
            case "init": producer.initTransactions(); break;
            case "begin": producer.beginTransaction(); break;
            case "send": producer.send(new ProducerRecord<>(topic, Integer.valueOf(words[1]), null, words[2])).get(); break;
            case "offsets": sendOffsets(producer, words[1], new TopicPartition(topic, 0), Long.parseLong(words[2])); break;
            case "commit": producer.commitTransaction(); break;
            case "abort": producer.abortTransaction(); break;
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    /** Releases before 2.5 take the name of the group, those since 4.0 its metadata. */
    private static void sendOffsets(KafkaProducer<String, String> producer, String group, TopicPartition place, long offset)
        throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = Collections.singletonMap(place, new OffsetAndMetadata(offset));
        for (Method each : KafkaProducer.class.getMethods()) {
            if (each.getName().equals("sendOffsetsToTransaction")) {
                Class<?> kind = each.getParameterTypes()[1];
                each.invoke(producer, offsets, kind == String.class ? group : kind.getConstructor(String.class).newInstance(group));
                return;
            }
        }
    }
}
