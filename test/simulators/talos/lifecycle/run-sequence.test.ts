import { describe, expect, it } from 'vitest';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import {
  awaitBootFromDisk,
  awaitStage,
  messageOfRejection,
  startTestCluster,
  type TestCluster,
} from '../testing/test-cluster.ts';

const labels = ['STATE', 'EPHEMERAL'].map((label) => ({ label, wipe: true }));
const stateOf = (one: Pick<TestCluster, 'machine'>) => readPartition(one.machine.disks[0]?.path ?? '', 'STATE');

describe('a sequence', () => {
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
    expect(messages[0]?.actorId).toEqual(expect.any(String));
    expect(one.world.runner.node('installs')?.console.join()).toContain('reboot failed: locked');
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
