import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { Code } from '../../../../src/talos/gen/common_pb.ts';
import { SequenceEvent_Action, SequenceEventSchema, TaskEventSchema } from '../../../../src/talos/gen/events_pb.ts';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../boot/disk-partitions.ts';
import type { TestClient } from '../testing/talos-test-bed.ts';
import {
  awaitBootFromDisk,
  awaitEtcdRunning,
  awaitStage,
  messageOfRejection,
  startTestCluster,
  type TestCluster,
} from '../testing/test-cluster.ts';

/** Events of a node from the start to its first failure. */
async function eventsUntilFailure({ machine }: TestClient) {
  const events = [];
  const abort = new AbortController();
  for await (const { data, actorId } of machine.events({ tailEvents: -1 }, { signal: abort.signal })) {
    // The first event only announces the stream.
    if (!data) continue;
    events.push({ type: data.typeUrl.split('.').pop(), value: data.value, actorId });
    if (data.typeUrl.endsWith('SequenceEvent') && events.some(isFailure)) break;
  }
  abort.abort();
  return events;
}

interface ObservedEvent {
  readonly type: string | undefined;
  readonly value: Uint8Array;
  readonly actorId: string;
}

const sequenceOf = ({ value }: ObservedEvent) => fromBinary(SequenceEventSchema, value);
const isFailure = (event: ObservedEvent): boolean =>
  event.type === 'SequenceEvent' && sequenceOf(event).action === SequenceEvent_Action.NOOP;

const labels = ['STATE', 'EPHEMERAL'].map((label) => ({ label, wipe: true }));
const stateOf = (one: Pick<TestCluster, 'machine'>) => readPartition(one.machine.disks[0]?.path ?? '', 'STATE');

describe('a sequence', () => {
  it('that fails names the phase in an event, and its start and end', async () => {
    const one = await startTestCluster('fails');
    await awaitBootFromDisk(one);
    const client = await one.client();
    await one.world.until('bootstrap', () => one.world.during(client.machine.bootstrap({})));
    await awaitEtcdRunning(one.world, client.machine);
    const { messages } = await client.machine.reset({ graceful: true, reboot: true });
    await awaitStage(one.world, client, 'rebooting');
    const mine = (await eventsUntilFailure(client)).filter(({ actorId }) => actorId === messages[0]?.actorId);
    expect(mine.filter(({ type }) => type === 'SequenceEvent').map((event) => sequenceOf(event).action)).toEqual([
      SequenceEvent_Action.START,
      SequenceEvent_Action.STOP,
      SequenceEvent_Action.NOOP,
    ]);
    const tasks = mine
      .filter(({ type }) => type === 'TaskEvent')
      .map(({ value }) => fromBinary(TaskEventSchema, value));
    expect([...new Set(tasks.map(({ task }) => task))]).toEqual([
      ...['cordonAndDrainNode', 'removeAllPods', 'stopDBus', 'leaveEtcd'],
    ]);
    expect(mine.map((event) => (isFailure(event) ? sequenceOf(event).error?.message : ''))).toContain(
      'sequence failed: error running phase 4 in reset sequence: task 1/1: failed, failed to leave cluster: etcdserver: re-configuration failed due to not enough started members',
    );
  });

  it('is replaced by a reboot when it is a reset, and nothing is erased then', async () => {
    const one = await startTestCluster('gives-way');
    await awaitBootFromDisk(one);
    const client = await one.client();
    await one.world.until('the API', () => client.machine.version({}));
    await client.machine.reset({ graceful: false, reboot: false, systemPartitionsToWipe: labels });
    await client.machine.reboot({});
    await awaitStage(one.world, client, 'rebooting');
    await one.world.until('the next boot', () => one.world.runner.node('gives-way')?.stage === 'booting');
    expect(stateOf(one)?.config).toBeDefined();
  });

  it('is not replaced while it installs, except by the power button', async () => {
    const one = await startTestCluster('installs');
    const client = await one.client();
    await awaitStage(one.world, client, 'installing');
    const { messages } = await client.machine.reboot({});
    const locked = (await eventsUntilFailure(client)).find(isFailure);
    expect(locked && sequenceOf(locked).error).toMatchObject({
      code: Code.LOCKED,
      message: 'sequence not started: locked',
    });
    // The event does not carry the caller's actor id.
    expect([messages[0]?.actorId, locked?.actorId]).toEqual([expect.any(String), '']);
    one.running.pressPowerButton();
    await one.world.until('the machine to be off', () => one.world.runner.node('installs')?.stage === 'off');
  });
});

describe('a configuration on trial', () => {
  async function onTrial(name: string) {
    const one = await startTestCluster(name);
    await awaitBootFromDisk(one);
    const { machine } = await one.client();
    await one.world.until('the API', () => machine.version({}));
    const apply = (hostname: string, mode = Mode.TRY, seconds = 60n) =>
      machine.applyConfiguration({
        data: Buffer.from(one.config.replace(`hostname: ${name}`, `hostname: ${hostname}`)),
        mode,
        tryModeTimeout: { seconds, nanos: 0 },
      });
    return { one, apply };
  }
  const consoleSays = (one: TestCluster, name: string, line: string) => () =>
    one.world.runner.node(name)?.console.some((text) => text.includes(line));

  it('rolls back to the previously active one, also when that is on trial too', async () => {
    const { one, apply } = await onTrial('twice');
    await apply('first');
    await apply('second');
    await one.world.until('the way back', consoleSays(one, 'twice', 'rolling back'));
    const { state } = await one.client();
    const request = { namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' };
    expect((await state.get(request)).resource?.spec?.yamlSpec).toContain('hostname: first');
    expect(stateOf(one)?.config).toContain('hostname: twice');
  });

  it('stays when another is applied, even a refused one', async () => {
    const { one, apply } = await onTrial('stays');
    await apply('tried', Mode.TRY, 30n);
    const { machine, state } = await one.client();
    expect(
      await messageOfRejection(machine.applyConfiguration({ data: Buffer.from('machine: {'), mode: Mode.AUTO })),
    ).toMatch(/^InvalidArgument/);
    let isOver = false;
    void one.world.clock.sleep(60).then(() => {
      isOver = true;
    });
    await one.world.until('a minute', () => isOver);
    const request = { namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' };
    expect((await state.get(request)).resource?.spec?.yamlSpec).toContain('hostname: tried');
    expect(consoleSays(one, 'stays', 'rolling back')()).toBe(false);
  });
});
