// Checked with `tsc --noEmit`: the types fit what the verbs take and return.

import { Coordinator, CoordinatorError, NotInTimeError, start, Verbs, type Fault, type Group } from "kafka-group-coordinator";

export async function everything(): Promise<void> {
  const coordinator: Coordinator = await start({ topics: { orders: 4 }, settings: { "group.max.size": 3 }, binary: "./coordinator" });
  const verbs: Verbs = coordinator;
  const address: string = coordinator.bootstrapServers;
  const offset: number = await verbs.produce("orders", ["a", new Uint8Array([1])], { partition: 1, key: address });
  const fault: Fault = await coordinator.failNext("OffsetCommit", "NOT_COORDINATOR", 2, { client: "web-*" });
  await coordinator.removeFault(fault);
  await coordinator.removeFault(fault.number);
  const group: Group = await coordinator.waitStable("shop", { members: 2, timeout: 5 });
  const committed: Record<string, number> = await coordinator.waitCommitted("shop", "orders", offset, { partition: 0 });
  const partitions: string[] = group.members.flatMap((each) => each.partitions);
  // @ts-expect-error: a number of partitions is no text
  await coordinator.createTopics({ orders: "4" });
  // @ts-expect-error: a verb has the arguments of Python only
  await coordinator.kick("web-1", { times: 2 });
  await coordinator.stop();
  const error: CoordinatorError = new NotInTimeError(`${committed} ${partitions}`);
  throw error;
}
