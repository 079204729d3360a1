import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { testedReleases } from './baseline-run.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  changingCallPattern,
  dumpNas,
  fixtureClock,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const small = { name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 };
const sized = (diskGiB: number, disks: object[] = []) => ({ sizes: [{ ...small, diskGiB, disks }] });
const disks = (data: number, osd: number) => [
  { name: 'data', sizeGiB: data },
  { name: 'osd', sizeGiB: osd, pool: 'fast', raw: true },
];
const twoPools = { pools: [{ name: 'tank' }, { name: 'fast' }] };

const nameOf = () => String(vmOf('shop-cp-0')!.row['name']);
const off = () => nasFixture.simulator.powerOff(nameOf());
const property = (end: string, name: string): number => {
  const [, found] = [...nasFixture.simulator.nas.datasets].find(
    ([id]) => id.includes('shop_cp_0') && id.endsWith(`/${end}`),
  )!;
  return Number(found.properties.get(name)) / gibibyte;
};
const sizeOf = (end: string) => property(end, 'volsize');
/** Disk sizes in GiB in the guest that was started last. */
const guestDiskGiB = () => nasFixture.runner.started.at(-1)?.disks.map(({ sizeBytes }) => sizeBytes / gibibyte);
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
/** Mutating calls since the last call of this function. */
const changes = () =>
  nasFixture.switchboard.calls
    .splice(0)
    .map(({ name }) => name)
    .filter((name) => changingCallPattern.test(name));
const healthyObservation = { reasons: [], seconds: 45, verdict: { kind: 'finished', progress: { plan: 'provision' } } };
const later = (minutes: number): Clock => ({
  ...fixtureClock,
  now: () => new Date(fixtureClock.now().getTime() + minutes * 60_000),
});

interface MemberOptions {
  readonly version?: string;
  readonly made?: object;
  readonly now: object;
  readonly wishes?: ConstructorParameters<typeof MemberFixture>[1];
}

/** A member that was created before the change of its size. */
async function startMember({
  version = '25.10',
  made = sized(40),
  now,
  wishes: desiredSpecs,
}: MemberOptions): Promise<MemberFixture> {
  await startTrueNasPlatformFixture({ version, seed: twoPools });
  const kept = new MemberFixture(await provisionMember(made), desiredSpecs);
  kept.change = now;
  nasFixture.switchboard.calls.length = 0;
  return kept;
}

describe.each(testedReleases)('a member of a cluster on TrueNAS %s', (version) => {
  it('T23: gets the larger disk of its size, keeps running, and reports that the guest sees it after a restart', async () => {
    const kept = await startMember({ version, now: sized(60) });
    const first = await kept.once();
    expect(first).toMatchObject({ reasons: ['RestartDue'], seconds: 45, verdict: { kind: 'finished' } });
    expect(first.words).toMatch(
      /was grown from 40 GiB to 60 GiB\. The node can use the space after its virtual machine/,
    );
    expect([changes(), sizeOf('boot'), guestDiskGiB()]).toEqual([['pool.dataset.update'], 60, [40]]);
    expect(property('boot', 'refreservation')).toBeGreaterThan(60);
    expect(await kept.rest()).toMatchObject({ reasons: ['RestartDue'] });
    expect(changes()).toEqual([]);
    await off();
    // A new process has no cached observation.
    kept.process = new TrueNasProviderProcess();
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([changes(), guestDiskGiB()]).toEqual([['vm.start'], [60]]);
  });
});

describe('a member of a cluster', () => {
  it('T23: is restarted for a grown disk after approval, and never otherwise', async () => {
    const kept = await startMember({ now: sized(60) });
    const told = await kept.rest();
    expect(told.words).toContain(
      `With the annotation ${annotations.approve}: RestartDue on the Machine, it is shut down`,
    );
    changes();
    kept.wish({ approve: 'RestartDue' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([changes(), guestDiskGiB(), kept.events]).toEqual([['vm.stop', 'vm.start'], [60], ['Repaired']]);
  });

  it('T43, T23: is restarted completely in maintenance too after approval, and not touched then', async () => {
    const kept = await startMember({ now: sized(60) });
    await kept.rest();
    changes();
    kept.wish({ approve: 'RestartDue', maintenance: 'true' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([changes(), guestDiskGiB()]).toEqual([['vm.stop', 'vm.start'], [60]]);
    await off();
    kept.process = new TrueNasProviderProcess();
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'PoweredOff'] });
    expect(changes()).toEqual([]);
  });

  it('T43: is started again after an approved stop, whatever happens to the approval and the process', async () => {
    const kept = await startMember({ now: sized(60) });
    await kept.rest();
    kept.wish({ approve: 'RestartDue', maintenance: 'true' });
    while (!changes().includes('vm.stop')) {
      await kept.once();
      await fixtureClock.sleep(1000);
    }
    kept.wish({ maintenance: 'true' });
    kept.process = new TrueNasProviderProcess();
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(guestDiskGiB()).toEqual([60]);
  });

  it('T23: that is off gets its space before it starts, and has it at once', async () => {
    const kept = await startMember({ now: sized(60) });
    await off();
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([changes(), guestDiskGiB()]).toEqual([['pool.dataset.update', 'vm.start'], [60]]);
  });

  it('T23: that was grown twice while it ran reports the size that the guest sees', async () => {
    const kept = await startMember({ now: sized(50) });
    await kept.rest();
    kept.change = sized(60);
    expect((await kept.rest()).words).toMatch(/was grown from 40 GiB to 60 GiB/);
  });

  it('T23: whose disk is larger than its size now is reported and left unchanged', async () => {
    const kept = await startMember({ made: sized(60), now: sized(40) });
    const before = toJsonText(dumpNas());
    expect(await kept.rest()).toMatchObject({ reasons: ['DiskLarger'], words: expect.stringMatching(/never shrunk/) });
    expect([changes(), toJsonText(dumpNas())]).toEqual([[], before]);
  });

  it('T23, T21: is rejected for lack of space, reports it, retries every ten minutes, and is started all the same', async () => {
    const kept = await startMember({ now: sized(60) });
    await nasFixture.simulator.fillPool('tank', gibibyte);
    await off();
    const told = await kept.rest();
    expect(told).toMatchObject({ reasons: ['DiskSmaller'], seconds: 45 });
    expect(told.words).toMatch(/has 40 GiB; the configured size is 60 GiB\. TrueNAS rejected .* more than 80%/);
    expect([changes(), guestDiskGiB()]).toEqual([['pool.dataset.update', 'vm.start'], [40]]);
    await nasFixture.simulator.fillPool('tank', 500 * gibibyte);
    expect(await kept.once()).toMatchObject({ reasons: ['DiskSmaller'], seconds: 45 });
    expect(changes()).toEqual([]);
    kept.process = new TrueNasProviderProcess(later(11));
    expect(await kept.rest()).toMatchObject({ reasons: ['RestartDue'] });
    expect([changes(), sizeOf('boot')]).toEqual([['pool.dataset.update'], 60]);
  });

  it('T23: is not touched in maintenance', async () => {
    const kept = await startMember({ now: sized(60), wishes: { maintenance: 'true' } });
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'DiskSmaller'] });
    expect([changes(), sizeOf('boot')]).toEqual([[], 40]);
  });

  it('T23, T46: whose disk has lost our ownership mark is not grown', async () => {
    const kept = await startMember({ now: sized(60) });
    const keys = ['installation', 'provider', 'machine'].map((key) => ({ key: `openmcp.talos:${key}`, remove: true }));
    const zvol = `${kept.fact['dataset']}/boot`;
    await call('pool.dataset.update', zvol, { user_properties_update: keys, comments: 'INHERIT' });
    changes();
    expect(await kept.rest()).toMatchObject({ reasons: ['OwnedByOthers'] });
    expect([changes(), sizeOf('boot')]).toEqual([[], 40]);
  });

  it('T23, S29: whose process is killed at a call meanwhile is grown, and reports the size in its guest', async () => {
    const kept = await startMember({ now: sized(60) });
    for (let at = 0, died = true; died; at += 1) {
      const dying = new TrueNasProviderProcess();
      kept.process = dying;
      let seen = 0;
      const hush = nasFixture.switchboard.onCall(({ name }) => {
        if (!name.startsWith('core.') && seen++ === at) void dying.kill();
      });
      kept.change = sized(60 + at);
      await kept.once().catch(() => {});
      hush();
      died = dying.stop.signal.aborted;
      kept.process = new TrueNasProviderProcess();
      const where = `killed at call ${at}`;
      expect(await kept.rest(), where).toMatchObject({ reasons: ['RestartDue'] });
      expect([sizeOf('boot'), guestDiskGiB()], where).toEqual([60 + at, [40]]);
    }
  });

  it('T23, T24: gets larger data disks, raw ones after approval; its record follows', async () => {
    const kept = await startMember({ made: sized(40, disks(50, 60)), now: sized(40, disks(70, 80)) });
    const told = await kept.rest();
    expect(told.reasons.sort()).toEqual(['RawDiskSmaller', 'RestartDue']);
    expect(told.words).toContain(
      `With the annotation ${annotations.approve}: RawDiskSmaller on the Machine, it is grown.`,
    );
    expect([sizeOf('boot'), sizeOf('disk-data'), sizeOf('disk-osd')]).toEqual([40, 70, 60]);
    kept.wish({ approve: 'RawDiskSmaller,RestartDue' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([sizeOf('disk-osd'), guestDiskGiB()]).toEqual([80, [40, 70, 80]]);
    expect(kept.fact['disks']).toMatch(/^tank\/\S+\/disk-data:70 fast\/\S+\/disk-osd:80:raw$/);
  });

  it('T23: keeps the approval while TrueNAS rejects the growth', async () => {
    const now = sized(40, disks(50, 80));
    const kept = await startMember({ made: sized(40, disks(50, 60)), now, wishes: { approve: 'RawDiskSmaller' } });
    await nasFixture.simulator.fillPool('fast', gibibyte);
    expect(await kept.rest()).toMatchObject({ reasons: ['RawDiskSmaller'] });
    expect([kept.machine.metadata.annotations, kept.events]).toEqual([{ [annotations.approve]: 'RawDiskSmaller' }, []]);
    await nasFixture.simulator.fillPool('fast', 500 * gibibyte);
    kept.process = new TrueNasProviderProcess(later(11));
    expect(await kept.rest()).toMatchObject({ reasons: ['RestartDue'] });
    expect([sizeOf('disk-osd'), kept.events]).toEqual([80, ['Repaired']]);
  });

  it('T23: whose size is gone, or has a disk less, is unchanged', async () => {
    const kept = await startMember({ made: sized(40, disks(50, 60)), now: sized(40) });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    kept.change = { sizes: [{ ...small, name: 'other', diskGiB: 80 }] };
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(changes()).toEqual([]);
  });
});
