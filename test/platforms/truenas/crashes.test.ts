import { describe, expect, it } from 'vitest';
import { isFullSweep, sweepSeed } from '../../e2e/fault-sweep/sampling.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { provisionUpTo, recordBaselineRun, subscribeToChanges, testedReleases } from './baseline-run.ts';
import {
  addressClaims,
  dumpNas,
  imageDownloadCount,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

/** The record of a process that was killed at its external call of that number. */
async function provisionKilledAt(at: number, durable: MachineRecord = { progress: undefined }): Promise<MachineRecord> {
  const process = new TrueNasProviderProcess();
  let seen = 0;
  const hush = nasFixture.switchboard.onCall(() => {
    if (seen === at) void process.kill();
    seen += 1;
  });
  await process.walk('provision', 'shop-cp-0', durable).catch(() => {});
  hush();
  return durable;
}

describe.each(testedReleases.map((version, round) => ({ version, round })))(
  `crashes, on TrueNAS $version (SWEEP=${sweepSeed})`,
  ({ version, round }) => {
    /** The indexes of calls that are killed here: each is on two of the three releases. */
    const drawn = (count: number) =>
      Array.from({ length: count }, (_, at) => at).filter(
        (at) => isFullSweep || (at + sweepSeed + round) % testedReleases.length > 0,
      );

    it('T14: killed at a call of provisioning or release, it has the same result: no duplicates, no remains', async () => {
      const { empty, made, provision, release } = await recordBaselineRun(version);
      for (const at of drawn(provision.length + release.length)) {
        const durable: MachineRecord = { progress: undefined };
        let process = new TrueNasProviderProcess();
        let seen = 0;
        const killAt = (call: InterceptedCall) => {
          if (seen === at) void process.kill();
          if (call.simulator === 'truenas') seen += 1;
        };
        const hush = nasFixture.switchboard.onCall(killAt);
        const resume = async (plan: 'provision' | 'release') => {
          const verdict = await process.walk(plan, 'shop-cp-0', durable).catch((error: unknown) => error);
          if (!process.stop.signal.aborted) return verdict;
          process = new TrueNasProviderProcess();
          return await process.walk(plan, 'shop-cp-0', durable);
        };
        const where = `killed at call ${at} (${[...provision, ...release][at]})`;
        expect(await resume('provision'), where).toMatchObject({ kind: 'finished' });
        expect(toJsonText(stateSummary()), where).toBe(made);
        expect(await resume('release'), where).toMatchObject({ kind: 'finished' });
        hush();
        expect(toJsonText(dumpNas()), where).toBe(empty);
        await process.kill();
      }
    }, 180_000);

    it('S29: killed at a call and then released, it leaves nothing of the partial machine', async () => {
      const { empty, provision } = await recordBaselineRun(version);
      for (const at of drawn(provision.length)) {
        const durable = await provisionKilledAt(at);
        const where = `killed at call ${at} (${provision[at]})`;
        expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable), where).toMatchObject({
          kind: 'finished',
        });
        expect(toJsonText(dumpNas()), where).toBe(empty);
        expect(addressClaims.size, where).toBe(0);
      }
    }, 180_000);

    it('S29: an upload of a killed process is finished before its dataset is destroyed: no folder is left in its place', async () => {
      const { empty } = await recordBaselineRun(version);
      const letGo = nasFixture.simulator.hangNextJob('filesystem.put');
      const durable: MachineRecord = { progress: undefined };
      const process = new TrueNasProviderProcess();
      const client = await nasFixture.login();
      const writing = [
        ['method', '=', 'filesystem.put'],
        ['state', '=', 'RUNNING'],
      ];
      const walking = process.walk('provision', 'shop-cp-0', durable).catch(() => {});
      await expect.poll(() => client.call('core.get_jobs', writing), { timeout: 30_000 }).toHaveLength(1);
      await process.kill();
      await walking;
      expect(durable.progress?.step).toBe('seed-written');
      let looks = 0;
      nasFixture.switchboard.onCall(({ name }) => {
        if (name === 'core.get_jobs') looks += 1;
        if (looks === 3) letGo();
      });
      expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
        kind: 'finished',
      });
      expect(looks).toBeGreaterThanOrEqual(3);
      expect(toJsonText(dumpNas())).toBe(empty);
    });

    it('killed at a call during the copy of the boot image, it copies it again and boots from a complete one only', async () => {
      await startTrueNasPlatformFixture({ version });
      const before = stateSummary().files;
      const undisturbed: MachineRecord = { progress: undefined };
      await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', undisturbed);
      const imageOf = ({ progress }: MachineRecord) =>
        dumpNas().files.find((one) => (one as { path: string }).path === progress?.facts['image']);
      const wanted = imageOf(undisturbed);
      const clean = async () => {
        await new TrueNasProviderProcess().walk('release', 'shop-cp-0', undisturbed);
        const client = await nasFixture.login();
        await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
      };
      await clean();
      for (const at of drawn(18)) {
        const durable = await provisionKilledAt(at);
        const where = `killed at call ${at} (${nasFixture.switchboard.calls.at(-1)?.name})`;
        const next = new TrueNasProviderProcess();
        expect(await next.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(imageOf(durable), where).toEqual(wanted);
        expect(await next.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        const client = await nasFixture.login();
        await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
        expect(stateSummary().files, where).toEqual(before);
        await next.kill();
      }
    }, 180_000);

    it('killed at a call during the repair of deleted objects, it has the same result', async () => {
      const { empty, made } = await recordBaselineRun(version);
      const client = await nasFixture.login();
      for (const at of drawn(36)) {
        const durable = await provisionUpTo('powered-on');
        const { vmId, dataset } = durable.progress?.facts ?? {};
        await client.call('vm.delete', vmId);
        await client.call('pool.dataset.delete', dataset, { recursive: true });
        await provisionKilledAt(at, durable);
        const where = `killed at call ${at} (${nasFixture.switchboard.calls.at(-1)?.name})`;
        const next = new TrueNasProviderProcess();
        expect(await next.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(toJsonText(stateSummary()), where).toBe(made);
        expect(await next.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(toJsonText(dumpNas()), where).toBe(empty);
        await next.kill();
      }
    }, 180_000);

    it('a restart of the middleware during the creation does not change its result', async () => {
      await startTrueNasPlatformFixture({ version });
      const durable: MachineRecord = { progress: undefined };
      const process = new TrueNasProviderProcess();
      let restarted: Promise<void> | undefined;
      nasFixture.switchboard.onCall(({ name }) => {
        if (name === 'vm.device.create') restarted ??= nasFixture.simulator.restart();
      });
      expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      await restarted;
      expect(stateSummary()).toMatchObject({ vms: [expect.stringMatching(/^shop_cp_0_/)], devices: 4 });
    });

    it.each([
      ['truenas', /^POST/, { kind: 'drop' }],
      ['truenas', /^POST/, { kind: 'error', status: 500 }],
      ['image-factory', /^GET/, { kind: 'drop' }],
      ['image-factory', /^GET/, { kind: 'lose-reply' }],
      ['image-factory', /^GET/, { kind: 'error', status: 503 }],
    ] as const)('an aborted copy (%s %s %j) is repeated and leaves no bootable image', async (where, match, fault) => {
      await startTrueNasPlatformFixture({ version });
      nasFixture.switchboard.fail(where, match, fault, 1);
      const durable: MachineRecord = { progress: undefined };
      expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
        kind: 'finished',
      });
      expect(imageDownloadCount()).toBe(2);
    });

    it('T8, G9: a job that fails after its 200 is noticed', async () => {
      await startTrueNasPlatformFixture({ version });
      nasFixture.simulator.failNextJob('filesystem.put', 'it broke');
      const durable: MachineRecord = { progress: undefined };
      expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
        kind: 'finished',
      });
      expect(imageDownloadCount()).toBe(2);
    });

    it('G1, S60: a VM that was started before it had devices is switched off first', async () => {
      await startTrueNasPlatformFixture({ version });
      const durable: MachineRecord = { progress: undefined };
      const first = new TrueNasProviderProcess();
      nasFixture.switchboard.onCall(({ name }) => {
        if (name === 'vm.device.create' && nasFixture.runner.started.length === 0) void first.kill();
      });
      await first.walk('provision', 'shop-cp-0', durable).catch(() => {});
      await nasFixture.simulator.restart({ hostReboot: true });
      expect(nasFixture.runner.started).toHaveLength(1);
      expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
        kind: 'finished',
      });
      expect(nasFixture.runner.started).toHaveLength(2);
      expect(nasFixture.runner.started[1]?.cdroms).toHaveLength(2);
    });

    it('a device that is lost before the start is attached again', async () => {
      await startTrueNasPlatformFixture({ version });
      const client = await nasFixture.login();
      const process = new TrueNasProviderProcess();
      await subscribeToChanges(process);
      let loss: Promise<unknown> | undefined;
      nasFixture.switchboard.onCall(({ name }) => {
        if (name !== 'vm.device.create' || loss !== undefined) return;
        const [device] = nasFixture.simulator.nas.devices.values();
        if (device) loss = client.call('vm.device.delete', device.id);
      });
      expect(await process.walk('provision', 'shop-cp-0', { progress: undefined })).toMatchObject({ kind: 'finished' });
      expect(await loss).toBe(true);
      expect(nasFixture.runner.started[0]?.disks).toHaveLength(1);
    });
  },
);
