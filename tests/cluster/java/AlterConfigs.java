import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/** Sets retention.ms of a topic so many times, as kafka-configs does: to whichever node the client picks. */
public class AlterConfigs {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, arguments[1]);
        for (int time = 1; time <= Integer.parseInt(arguments[2]); time++) {
            try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
                ConfigEntry entry = new ConfigEntry("retention.ms", String.valueOf(1_000_000 + time));
                AlterConfigOp operation = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(Map.of(topic, List.of(operation))).all().get();
                System.out.println("altered " + time);
            }
        }
    }
}
