import { readFileSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { immediateFaults, silentFault } from '../../e2e/fault-sweep/faults.ts';
import { KillableContext } from '../../e2e/support/provider-process/killable-context.ts';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { markJoined, testedReleases } from './baseline-run.ts';
import { MemberFixture } from './member-fixture.ts';
import {
  dumpNas,
  dumpWithoutImageCache,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const factOf = ({ progress }: MachineRecord, name: string) => String(progress?.facts[name]);
const finishedVerdict = { kind: 'finished' };

async function provisioned(process = new TrueNasProviderProcess()): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(finishedVerdict);
  return durable;
}

/** Files of the system that contain a machine configuration. */
const filesWithConfig = (): string[] =>
  dumpNas().files.flatMap((file) => {
    const { path, size } = file as { path: string; size?: number };
    if (size === undefined) return [];
    return readFileSync(realPath(nasFixture.simulator.nas, path)).includes('version: v1alpha1') ? [path] : [];
  });

/** The calls of the post-join steps, without heartbeats. */
async function postJoinCalls(process: TrueNasProviderProcess, durable: MachineRecord): Promise<readonly string[]> {
  const names: string[] = [];
  const hush = nasFixture.switchboard.onCall(({ name }) => void names.push(name));
  expect(await process.settle('shop-cp-0', durable)).toMatchObject(finishedVerdict);
  hush();
  return names.filter((name) => !/^(core\.(ping|get_jobs)|auth\.)/.test(name));
}

it('T34: a machine that an earlier release created loses its configuration, once', async () => {
  await startTrueNasPlatformFixture();
  const durable = await provisioned();
  const { seedEmptied: _, ...facts } = durable.progress!.facts;
  durable.progress = { ...durable.progress!, facts };
  markJoined(durable);
  expect(filesWithConfig()).toHaveLength(1);
  const kept = new MemberFixture(durable);
  const first = await kept.once();
  expect(first).toMatchObject({ reasons: [], verdict: { kind: 'finished', progress: { plan: 'provision' } } });
  expect(filesWithConfig()).toEqual([]);
  nasFixture.switchboard.calls.length = 0;
  expect(await kept.rest()).toMatchObject({ reasons: [] });
  expect(nasFixture.switchboard.calls.map(({ name }) => name)).not.toContain('filesystem.listdir');
});

it('T34: the removal of the configuration is suspended in maintenance, and reported', async () => {
  await startTrueNasPlatformFixture();
  const durable = await provisioned();
  const { seedEmptied: _, ...facts } = durable.progress!.facts;
  durable.progress = { ...durable.progress!, facts };
  markJoined(durable);
  const kept = new MemberFixture(durable, { maintenance: 'true' });
  expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'SeedFull'] });
  expect(filesWithConfig()).toHaveLength(1);
});

describe.each(testedReleases)('after a node has joined, on TrueNAS %s', (version) => {
  it('T34: its configuration is not readable on the system any more, and it starts again all the same', async () => {
    await startTrueNasPlatformFixture({ version });
    const before = toJsonText(dumpWithoutImageCache());
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    expect(filesWithConfig()).toEqual([factOf(durable, 'seed')]);
    expect(await process.settle('shop-cp-0', durable)).toMatchObject(finishedVerdict);
    expect(filesWithConfig()).toEqual([]);
    const { vmId } = durable.progress?.facts ?? {};
    await call('vm.poweroff', vmId);
    await call('vm.start', vmId);
    await nasFixture.simulator.restart({ hostReboot: true });
    expect(nasFixture.runner.started).toHaveLength(3);
    for (const { cdroms } of nasFixture.runner.started) expect(cdroms).toHaveLength(2);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject(finishedVerdict);
    expect(toJsonText(dumpWithoutImageCache())).toBe(before);
  });

  it('T34: with a kill at a call of the steps, or a fault in it, it has the same result', async () => {
    await startTrueNasPlatformFixture({ version });
    const durable = await provisioned();
    const seed = realPath(nasFixture.simulator.nas, factOf(durable, 'seed'));
    const full = readFileSync(seed);
    const refill = () => nasFixture.upload(factOf(durable, 'seed'), full, { mode: 0o644 });
    const fill = async () => {
      await (await nasFixture.login()).jobEnd(JSON.parse((await refill()).text).job_id);
      expect(filesWithConfig()).toHaveLength(1);
    };
    const calls = await postJoinCalls(new TrueNasProviderProcess(), durable);
    const empty = readFileSync(seed);
    const check = (where: string) => expect(readFileSync(seed).equals(empty), where).toBe(true);
    for (const [at, name] of calls.entries()) {
      await fill();
      const process = new TrueNasProviderProcess();
      let seen = 0;
      const hush = nasFixture.switchboard.onCall((one) => {
        if (!calls.includes(one.name)) return;
        if (seen === at) void process.kill();
        seen += 1;
      });
      await process.settle('shop-cp-0', durable).catch(() => {});
      hush();
      expect(await new TrueNasProviderProcess().settle('shop-cp-0', durable)).toMatchObject(finishedVerdict);
      check(`killed at ${name}, number ${at}`);
    }
    const ways = [...Object.values(immediateFaults), silentFault.striker];
    for (const [at, name] of calls.entries()) {
      const fault = ways[(at + testedReleases.indexOf(version)) % ways.length]?.strike(
        { simulator: 'truenas', name, at: new Date() },
        `truenas ${name}`,
      );
      if (!fault) continue;
      await fill();
      nasFixture.switchboard.fail('truenas', new RegExp(`^${name}$`), fault, 1);
      await new KillableContext(fault.kind === 'silence' ? silentFault.manner.hasteOfDeadlines : 1).live(async () => {
        expect(await new TrueNasProviderProcess().settle('shop-cp-0', durable)).toMatchObject(finishedVerdict);
      });
      check(`${JSON.stringify(fault)} at ${name}`);
    }
  }, 60_000);
});

describe('the emptied seed', () => {
  it('T34: takes one query when it is empty already', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    await process.settle('shop-cp-0', durable);
    expect(await postJoinCalls(process, durable)).toEqual(['filesystem.listdir']);
  });

  it('T34: is every seed of the machine, and no foreign file', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    const folder = `/mnt/${factOf(durable, 'dataset')}`;
    const older = `${folder}/seed-0123456789abcdef.iso`;
    const [notes, other] = [`${folder}/seed-notes.txt`, '/mnt/tank/seed-0123456789abcdef.iso'];
    for (const path of [older, notes, other]) {
      const { text: reply } = await nasFixture.upload(path, 'version: v1alpha1', { mode: 0o644 });
      await (await nasFixture.login()).jobEnd(JSON.parse(reply).job_id);
    }
    await process.settle('shop-cp-0', durable);
    expect(filesWithConfig().sort()).toEqual([notes, other].sort());
  });

  it('S48: is created again after its removal, because the machine would not start without it', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    rmSync(realPath(nasFixture.simulator.nas, factOf(durable, 'seed')));
    await process.settle('shop-cp-0', durable);
    const { vmId } = durable.progress?.facts ?? {};
    await call('vm.poweroff', vmId);
    await call('vm.start', vmId);
    expect(nasFixture.runner.started).toHaveLength(2);
  });

  it('T34: is written again while the join of the node is not recorded, and emptied when it is', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    await process.settle('shop-cp-0', durable);
    durable.progress = undefined;
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(finishedVerdict);
    expect(filesWithConfig()).toEqual([factOf(durable, 'seed')]);
    await process.settle('shop-cp-0', durable);
    expect(filesWithConfig()).toEqual([]);
  });

  it('T34: is never in a dataset that has lost our ownership mark', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const durable = await provisioned(process);
    const keys = ['installation', 'provider', 'machine'].map((key) => ({ key: `openmcp.talos:${key}`, remove: true }));
    const change = { comments: '', user_properties_update: keys };
    await call('pool.dataset.update', factOf(durable, 'dataset'), change);
    expect(await process.settle('shop-cp-0', durable)).toMatchObject({ kind: 'failed', reason: 'OwnedByOthers' });
    expect(filesWithConfig()).toEqual([factOf(durable, 'seed')]);
  });
});
