import { stat } from 'node:fs/promises';
import { evaluate } from '@marcbachmann/cel-js';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { renderMachineConfig } from '../../../src/talos/config/machine-config.ts';
import { exampleConfigInput, exampleSecretsBundle } from '../../talos/example-config.ts';
import type { MachineDescription } from '../../world/machine-runner/machine.ts';
import { deviceName } from '../../world/talos/boot/installer.ts';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { testedReleases } from './baseline-run.ts';
import {
  changingCallPattern,
  checkPlatformConfig,
  dumpNas,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const seed = { pools: [{ name: 'tank' }, { name: 'fast' }] };
const disks: object[] = [
  { name: 'data', sizeGiB: 50 },
  { name: 'osd', sizeGiB: 60, pool: 'fast', raw: true },
  { name: 'cache', sizeGiB: 50, pool: 'fast' },
];
const small = { name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 };
const change = { sizes: [{ ...small, disks }] };

/** Everything on both pools, without the folders and images that stay on purpose. */
const remainingState = () => {
  const all = dumpNas();
  const stays = (id: string) => /^(\/mnt\/)?(tank|fast)\/talos(\/images(\/|$)|$)/.test(id);
  return toJsonText({
    ...all,
    datasets: all.datasets.filter((one) => !stays((one as { id: string }).id)),
    files: all.files.filter((one) => !stays((one as { path: string }).path)),
  });
};
const namesOf = (durable: MachineRecord) => {
  const { vm } = durable.progress?.facts ?? {};
  return [`tank/talos/${vm}/disk-data`, `fast/talos/${vm}/disk-osd`, `fast/talos/${vm}/disk-cache`];
};
async function makeMachine(durable: MachineRecord = { progress: undefined }): Promise<MachineRecord> {
  expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable, change)).toMatchObject({
    kind: 'finished',
  });
  return durable;
}
/** The record of a machine whose process ended at the start of that step. */
async function provisionUntilStep(step: string): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  const process = new TrueNasProviderProcess();
  const hush = nasFixture.switchboard.onCall(() => {
    if (durable.progress?.step === step) void process.kill();
  });
  await process.walk('provision', 'shop-cp-0', durable, change).catch(() => {});
  hush();
  expect(durable.progress?.step).toBe(step);
  return durable;
}
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);

/** The user volumes of Talos in the seed of the machine. */
async function userVolumes(): Promise<{ name: string; provisioning: { diskSelector: { match: string } } }[]> {
  const process = new TrueNasProviderProcess();
  const context = process.context('shop-cp-0', {}, change);
  const step = truenas.provision.find(({ name }) => name === 'address-claimed');
  const outcome = await step?.run(context);
  const facts = outcome?.kind === 'done' ? (outcome.facts ?? {}) : {};
  const hardware = truenas.preview.hardware({
    ...context,
    facts,
    host: undefined,
    hostedServers: () => new Set<string>(),
  });
  if (!hardware) throw new Error('no hardware');
  const config = renderMachineConfig(exampleConfigInput(await exampleSecretsBundle(), { hardware })).reveal();
  return parseAllDocuments(config).flatMap((one) => (one.get('kind') === 'UserVolumeConfig' ? [one.toJS()] : []));
}

/** The kernel names of the disks that match an expression, as Talos evaluates it. */
function matchingDisks(match: string, machine: MachineDescription): string[] {
  const bytes = (count: number) => evaluate(`${count}u`);
  return machine.disks.flatMap((disk) => {
    const device = deviceName(disk, machine.disks);
    const known = { dev_path: `/dev/${device}`, size: bytes(disk.sizeBytes) };
    return evaluate(match, { disk: known, GiB: bytes(gibibyte) }) === true ? [device] : [];
  });
}

describe.each(testedReleases)('data disks on TrueNAS %s', (version) => {
  it('T24, T22: are created fully provisioned on their pools with our ownership mark, attached in order after the boot disk, and deleted completely', async () => {
    await startTrueNasPlatformFixture({ version, seed });
    const before = remainingState();
    const durable = await makeMachine();
    const { datasets } = nasFixture.simulator.nas;
    for (const [i, sizeGiB] of [50, 60, 50].entries()) {
      const zvol = datasets.get(namesOf(durable)[i] ?? '');
      expect(zvol?.type).toBe('VOLUME');
      expect(Number(zvol?.properties.get('volsize'))).toBe(sizeGiB * gibibyte);
      expect(Number(zvol?.properties.get('refreservation'))).toBeGreaterThan(sizeGiB * gibibyte);
      expect(zvol?.userProperties.get('openmcp.talos:machine')).toBe('shop-cp-0');
    }
    const [machine] = nasFixture.runner.started;
    expect(machine?.disks.map(({ sizeBytes, bus, order }) => [sizeBytes / gibibyte, bus, order])).toEqual([
      [40, 'virtio', 1],
      [50, 'virtio', 2],
      [60, 'virtio', 3],
      [50, 'virtio', 4],
    ]);
    expect(machine?.cdroms.map(({ order }) => order)).toEqual([5, 6]);
    expect(durable.progress?.facts['disks']).toBe(
      `${namesOf(durable)[0]}:50 ${namesOf(durable)[1]}:60:raw ${namesOf(durable)[2]}:50`,
    );
    // The sizes and pools in the current ProviderConfig do not matter.
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'finished',
    });
    expect(remainingState()).toBe(before);
  });

  it('T24: killed at a call of provisioning or release, it has the same result', async () => {
    await startTrueNasPlatformFixture({ version, seed });
    const before = remainingState();
    const durable = await makeMachine();
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable, change);
    const calls = nasFixture.switchboard.calls.filter(({ name }) => changingCallPattern.test(name)).length;
    expect(calls).toBeGreaterThan(20);
    for (let at = testedReleases.indexOf(version); at < calls; at += testedReleases.length) {
      const life: MachineRecord = { progress: undefined };
      let process = new TrueNasProviderProcess();
      let seen = 0;
      const hush = nasFixture.switchboard.onCall(({ name }) => {
        if (!changingCallPattern.test(name)) return;
        if (seen === at) void process.kill();
        seen += 1;
      });
      for (const plan of ['provision', 'release'] as const) {
        await process.walk(plan, 'shop-cp-0', life, change).catch(() => {});
        if (!process.stop.signal.aborted) continue;
        process = new TrueNasProviderProcess();
        const verdict = await process.walk(plan, 'shop-cp-0', life, change);
        expect(verdict, `killed at change ${at}`).toMatchObject({ kind: 'finished' });
      }
      hush();
      expect(remainingState(), `killed at change ${at}`).toBe(before);
      await process.kill();
    }
  }, 120_000);
});

describe('data disks', () => {
  it('S16, S50: each volume matches one disk of the machine and no other, two of the same size among them', async () => {
    await startTrueNasPlatformFixture({ seed });
    await makeMachine();
    const [machine] = nasFixture.runner.started;
    const volumes = await userVolumes();
    const found = volumes.map(({ name, provisioning }) => [
      name,
      matchingDisks(provisioning.diskSelector.match, machine!),
    ]);
    expect(found).toEqual([
      ['data', ['vdb']],
      ['cache', ['vdd']],
    ]);
    // In another order no disk is confused with another: its volume waits.
    const [boot, data, osd, cache] = machine!.disks;
    const mixed = { ...machine!, disks: [boot!, osd!, data!, cache!].map((disk, order) => ({ ...disk, order })) };
    expect(matchingDisks(volumes[0]!.provisioning.diskSelector.match, mixed)).toEqual([]);
  });

  it('stay with a machine whose size has changed', async () => {
    await startTrueNasPlatformFixture({ seed });
    const before = remainingState();
    const durable = await provisionUntilStep('data-disks-created');
    const other = { pool: 'fast', sizes: [{ ...small, disks: [{ name: 'new', sizeGiB: 10 }] }] };
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable, other)).toMatchObject({
      kind: 'finished',
    });
    expect(namesOf(durable).map((name) => nasFixture.simulator.nas.datasets.has(name))).toEqual([true, true, true]);
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable, other)).toMatchObject({
      kind: 'finished',
    });
    expect(remainingState()).toBe(before);
  });

  it('S48: are created again after the deletion of one before the start', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await provisionUntilStep('devices-attached');
    await call('pool.dataset.delete', namesOf(durable)[2]);
    await makeMachine(durable);
    expect(durable.progress?.facts).toMatchObject({ returns: 1 });
    expect(nasFixture.runner.started.at(-1)?.disks).toHaveLength(4);
  });

  it('are not replaced when a member of a cluster has lost one', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine();
    const [, , lost = ''] = namesOf(durable);
    nasFixture.simulator.nas.datasets.delete(lost);
    const before = toJsonText(dumpNas());
    const step = truenas.provision.find(({ name }) => name === 'data-disks-created');
    const facts = { ...durable.progress!.facts, joined: true };
    expect(await step?.run(new TrueNasProviderProcess().context('shop-cp-0', facts, change))).toMatchObject({
      kind: 'fail',
      reason: 'DiskLost',
      message: expect.stringContaining(lost),
    });
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it('T47: are found by their names without a record, and deleted with the machine', async () => {
    await startTrueNasPlatformFixture({ seed });
    const before = remainingState();
    const durable = await makeMachine();
    await nasFixture.simulator.powerOff(String(durable.progress?.facts['vm']));
    const context = new TrueNasProviderProcess().context('shop-cp-0', {}, change);
    const ours = { installation: context.owner.installation, provider: context.owner.provider };
    const [orphan] = await truenas.garbage!.orphans!.find({
      ...context,
      failureDomain: undefined,
      instance: ours,
      isKnown: () => false,
    });
    expect(orphan?.resources).toContain(`zvol ${namesOf(durable)[0]}`);
    for (const step of truenas.garbage!.orphans!.remove) {
      expect(await step.run({ ...context, facts: orphan?.facts ?? {} }), step.name).toMatchObject({ kind: 'done' });
    }
    expect(remainingState()).toBe(before);
  });

  it('S24: a foreign one of our name is neither used nor deleted', async () => {
    await startTrueNasPlatformFixture({ seed });
    const { vm } = (await makeMachine()).progress!.facts;
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', { progress: undefined }, change);
    const folder = `fast/talos/${vm}`;
    await call('pool.dataset.create', { name: folder });
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable, change)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
      message: expect.stringContaining(folder),
    });
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable, change)).toMatchObject({
      kind: 'finished',
    });
    expect(nasFixture.simulator.nas.datasets.has(folder)).toBe(true);
  });

  it('are reported when they are not attached', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine();
    await nasFixture.simulator.loseDevice(String(durable.progress?.facts['vm']), ({ path }) =>
      String(path).endsWith('/disk-cache'),
    );
    expect(
      await truenas.observe(new TrueNasProviderProcess().context('shop-cp-0', durable.progress!.facts, change)),
    ).toMatchObject({
      drift: [{ reason: 'DeviceMissing', message: expect.stringContaining(`${namesOf(durable)[2]} is not attached`) }],
    });
  });

  it.each<[string, (zvol: string) => unknown, object]>([
    ['is gone', (zvol) => nasFixture.simulator.nas.datasets.delete(zvol), { reason: 'DiskGone', zvol: true }],
    [
      'has lost our ownership mark',
      (zvol) => {
        const dataset = nasFixture.simulator.nas.datasets.get(zvol);
        dataset?.userProperties.clear();
        dataset?.properties.delete('comments');
      },
      { reason: 'OwnedByOthers', zvol: true },
    ],
    [
      'is on a faulted pool',
      () => Object.assign(nasFixture.simulator.nas.pools.get('fast')!, { status: 'FAULTED' }),
      { reason: 'PoolFaulted' },
    ],
    ['is on a pool that was exported', () => nasFixture.simulator.nas.pools.delete('fast'), { reason: 'PoolGone' }],
  ])(
    'T42: one that %s is reported with its reason',
    async (_, lose, { reason, zvol }: { reason?: string; zvol?: boolean }) => {
      await startTrueNasPlatformFixture({ seed });
      const durable = await makeMachine();
      const [, , name = ''] = namesOf(durable);
      const context = new TrueNasProviderProcess().context('shop-cp-0', durable.progress!.facts, change);
      expect(await truenas.observe(context)).toMatchObject({ exists: true, drift: [] });
      lose(name);
      const later = new TrueNasProviderProcess().context('shop-cp-0', durable.progress!.facts, change);
      expect((await truenas.observe(later)).drift).toMatchObject([
        { reason, message: expect.stringContaining(zvol ? name : 'fast') },
      ]);
    },
  );

  it('T24, T27: their pools are checked by field, and so are the objects there under the prefix', async () => {
    await startTrueNasPlatformFixture({ seed: { ...seed, datasets: [{ name: 'fast/talos', volumeBytes: gibibyte }] } });
    const away = { sizes: [{ ...small, disks: [...disks, { name: 'more', sizeGiB: 1, pool: 'slow' }] }] };
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), away)).toEqual([
      {
        field: 'truenas.sizes[0].disks[3].pool',
        reason: 'PoolUnknown',
        message: expect.stringMatching(/slow.*fast, tank/),
      },
      { field: 'truenas.datasetPrefix', reason: 'PrefixUnusable', message: expect.stringContaining('fast/talos') },
    ]);
    nasFixture.simulator.nas.pools.get('fast')!.status = 'FAULTED';
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), change)).toContainEqual({
      field: 'truenas.sizes[0].disks[1].pool',
      reason: 'PoolUnhealthy',
      message: expect.stringContaining('FAULTED'),
    });
  });

  it('S4: their size is checked for each pool against its usable space', async () => {
    const pools = [{ name: 'tank' }, { name: 'fast', sizeBytes: 300 * gibibyte }];
    await startTrueNasPlatformFixture({ seed: { pools } });
    const process = new TrueNasProviderProcess();
    const context = process.context('none', {}, change);
    const machine = { name: 'shop-cp-0', role: 'controlplane', size: 'small' } as const;
    const foresee = (machines: number) =>
      truenas.preflight({
        ...context,
        failureDomain: undefined,
        machines: Array.from({ length: machines }, () => machine),
        talos: context.node.talos,
        isPoolAddress: () => false,
      });
    expect(await foresee(2)).toEqual([]);
    expect(await foresee(3)).toEqual([
      {
        field: 'truenas.sizes',
        reason: 'InsufficientDiskSpace',
        message: expect.stringMatching(/^fast has space for the disks of 2 of 3 machines .* all disks take 330\.0 GiB/),
      },
    ]);
  });

  it('S17: are empty at first', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine();
    for (const name of namesOf(durable)) {
      const { blocks } = await stat(realPath(nasFixture.simulator.nas, `/dev/zvol/${name}`));
      expect(blocks).toBe(0);
    }
  });
});
