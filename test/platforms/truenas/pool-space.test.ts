import { describe, expect, it } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import {
  type MachineRecord,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const isShort = (verdict: AdvanceResult) => 'reason' in verdict && verdict.reason === 'InsufficientDiskSpace';
const sizesWith = (disks: readonly object[]) => ({ sizes: [{ ...platformConfig().sizes[0], disks }] });
const lives = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `shop-${i}`, durable: { progress: undefined } as MachineRecord }));
const zvols = () => [...nasFixture.simulator.nas.datasets.values()].filter(({ type }) => type === 'VOLUME').length;

describe('space on a TrueNAS system', () => {
  it('G17, T21: of many machines at once as many are created as fit, and nothing for the others', async () => {
    await startTrueNasPlatformFixture();
    // Three times 40 GiB and the metadata of ZFS; for a fourth TrueNAS would require the space of a fifth.
    await nasFixture.simulator.fillPool('tank', 172 * gibibyte);
    const process = new TrueNasProviderProcess();
    const all = lives(8);
    const verdicts = await Promise.all(
      all.map(({ name, durable }) => process.walk('provision', name, durable, {}, isShort)),
    );
    expect(verdicts.filter(({ kind }) => kind === 'finished')).toHaveLength(3);
    const waiting = verdicts.filter(isShort);
    expect(waiting).toHaveLength(5);
    for (const verdict of waiting)
      expect(verdict).toMatchObject({
        ...{ kind: 'waiting', seconds: 30, progress: { step: 'resources-reserved', failures: 0 } },
        message: expect.stringMatching(
          /^tank.* on .* has .* GiB available, without the reservations .* this machine take 40\.8 GiB/,
        ),
      });
    expect([stateSummary().vms.length, zvols()]).toEqual([3, 3]);

    const done = all[verdicts.findIndex(({ kind }) => kind === 'finished')]!;
    const next = all[verdicts.findIndex(isShort)]!;
    await process.walk('release', done.name, done.durable);
    expect(await process.walk('provision', next.name, next.durable)).toMatchObject({ kind: 'finished' });
  });

  it('G17: on several pools is reserved completely or not at all, and a waiting machine reserves neither space nor memory', async () => {
    await startTrueNasPlatformFixture({
      seed: { memoryMiB: 8192, pools: [{ name: 'tank' }, { name: 'fast', sizeBytes: 300 * gibibyte }] },
    });
    await nasFixture.simulator.fillPool('fast', 60 * gibibyte);
    await nasFixture.simulator.fillPool('tank', 60 * gibibyte);
    const process = new TrueNasProviderProcess();
    const wide = sizesWith([{ name: 'data', sizeGiB: 50, pool: 'fast' }]);
    const [first, second] = lives(2);
    expect(await process.walk('provision', first!.name, first!.durable, wide, isShort)).toMatchObject({
      message: expect.stringMatching(/^fast.* on /),
    });
    // There is memory for one, and space on tank for one.
    expect(await process.walk('provision', second!.name, second!.durable)).toMatchObject({ kind: 'finished' });
    await process.walk('release', second!.name, second!.durable);
    await nasFixture.simulator.fillPool('fast', 100 * gibibyte);
    expect(await process.walk('provision', first!.name, first!.durable, wide)).toMatchObject({ kind: 'finished' });
  });

  it('G17: after a crash is reserved for the missing disks only, and not taken from other machines', async () => {
    await startTrueNasPlatformFixture();
    await nasFixture.simulator.fillPool('tank', 130 * gibibyte);
    const wide = sizesWith([{ name: 'data', sizeGiB: 40 }]);
    const [one, other] = lives(2);
    const first = new TrueNasProviderProcess();
    const hush = nasFixture.switchboard.judge(({ name }) =>
      name === 'pool.dataset.create' && one!.durable.progress?.step === 'data-disks-created'
        ? { kind: 'drop' }
        : undefined,
    );
    await first.walk('provision', one!.name, one!.durable, wide, ({ kind }) => kind === 'error');
    hush();
    await first.kill();
    expect(zvols()).toBe(1);
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', other!.name, other!.durable)).toMatchObject({ kind: 'finished' });
    expect(await process.walk('provision', one!.name, one!.durable, wide, isShort)).toMatchObject({
      ...{ kind: 'waiting', reason: 'InsufficientDiskSpace', progress: { step: 'data-disks-created' } },
      message: expect.stringContaining('this machine take 40.8 GiB'),
    });
    await process.walk('release', other!.name, other!.durable);
    expect(await process.walk('provision', one!.name, one!.durable, wide)).toMatchObject({ kind: 'finished' });
    expect(zvols()).toBe(2);
  });
});
