import { readFileSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Mortal } from '../../e2e/support/mortal.ts';
import { quickFaults, silence } from '../../e2e/sweep/faults.ts';
import { realPath } from '../truenas/storage.ts';
import { Keeping } from './keeping.ts';
import { join, versions } from './rehearsal.ts';
import { type Durable, dump, Process, room, start, text, useScene, withoutCache } from './scene.ts';

useScene();

const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const factOf = ({ progress }: Durable, name: string) => String(progress?.facts[name]);
const made = { kind: 'finished' };

async function provisioned(process = new Process()): Promise<Durable> {
  const durable: Durable = { progress: undefined };
  expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(made);
  return durable;
}

/** Files of the system in which a machine configuration can be read. */
const readable = (): string[] =>
  dump().files.flatMap((file) => {
    const { path, size } = file as { path: string; size?: number };
    if (size === undefined) return [];
    return readFileSync(realPath(room.room.nas, path)).includes('version: v1alpha1') ? [path] : [];
  });

/** The calls that it takes, without signs of life. */
async function settledBy(process: Process, durable: Durable): Promise<readonly string[]> {
  const names: string[] = [];
  const hush = room.switchboard.onCall(({ name }) => void names.push(name));
  expect(await process.settle('shop-cp-0', durable)).toMatchObject(made);
  hush();
  return names.filter((name) => !/^(core\.(ping|get_jobs)|auth\.)/.test(name));
}

it('T34: of a machine that an earlier release made, its configuration is taken away, once', async () => {
  await start();
  const durable = await provisioned();
  const { seedEmptied: _, ...facts } = durable.progress!.facts;
  durable.progress = { ...durable.progress!, facts };
  join(durable);
  expect(readable()).toHaveLength(1);
  const kept = new Keeping(durable);
  const first = await kept.once();
  expect(first).toMatchObject({ reasons: [], verdict: { kind: 'finished', progress: { plan: 'provision' } } });
  expect(readable()).toEqual([]);
  room.switchboard.calls.length = 0;
  expect(await kept.rest()).toMatchObject({ reasons: [] });
  expect(room.switchboard.calls.map(({ name }) => name)).not.toContain('filesystem.listdir');
});

it('T34: is left as it is in maintenance, and told', async () => {
  await start();
  const durable = await provisioned();
  const { seedEmptied: _, ...facts } = durable.progress!.facts;
  durable.progress = { ...durable.progress!, facts };
  join(durable);
  const kept = new Keeping(durable, { maintenance: 'true' });
  expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'SeedFull'] });
  expect(readable()).toHaveLength(1);
});

describe.each(versions)('once a node has joined, on TrueNAS %s', (version) => {
  it('T34: nobody can read its configuration on the system any more, and it starts again all the same', async () => {
    await start({ version });
    const before = text(withoutCache());
    const process = new Process();
    const durable = await provisioned(process);
    expect(readable()).toEqual([factOf(durable, 'seed')]);
    expect(await process.settle('shop-cp-0', durable)).toMatchObject(made);
    expect(readable()).toEqual([]);
    const { vmId } = durable.progress?.facts ?? {};
    await call('vm.poweroff', vmId);
    await call('vm.start', vmId);
    await room.room.restart({ hostReboot: true });
    expect(room.runner.started).toHaveLength(3);
    for (const { cdroms } of room.runner.started) expect(cdroms).toHaveLength(2);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject(made);
    expect(text(withoutCache())).toBe(before);
  });

  it('T34: killed at a call of that, or struck there, it comes to the same end', async () => {
    await start({ version });
    const durable = await provisioned();
    const seed = realPath(room.room.nas, factOf(durable, 'seed'));
    const full = readFileSync(seed);
    const refill = () => room.upload(factOf(durable, 'seed'), full, { mode: 0o644 });
    const fill = async () => {
      await (await room.login()).jobEnd(JSON.parse((await refill()).text).job_id);
      expect(readable()).toHaveLength(1);
    };
    const calls = await settledBy(new Process(), durable);
    const empty = readFileSync(seed);
    const check = (where: string) => expect(readFileSync(seed).equals(empty), where).toBe(true);
    for (const [at, name] of calls.entries()) {
      await fill();
      const process = new Process();
      let seen = 0;
      const hush = room.switchboard.onCall((one) => {
        if (!calls.includes(one.name)) return;
        if (seen === at) void process.kill();
        seen += 1;
      });
      await process.settle('shop-cp-0', durable).catch(() => {});
      hush();
      expect(await new Process().settle('shop-cp-0', durable)).toMatchObject(made);
      check(`killed at ${name}, number ${at}`);
    }
    const ways = [...Object.values(quickFaults), silence.striker];
    for (const [at, name] of calls.entries()) {
      const fault = ways[(at + versions.indexOf(version)) % ways.length]?.strike(
        { room: 'truenas', name, at: new Date() },
        `truenas ${name}`,
      );
      if (!fault) continue;
      await fill();
      room.switchboard.fail('truenas', new RegExp(`^${name}$`), fault, 1);
      await new Mortal(fault.kind === 'silence' ? silence.haste : 1).live(async () => {
        expect(await new Process().settle('shop-cp-0', durable)).toMatchObject(made);
      });
      check(`${JSON.stringify(fault)} at ${name}`);
    }
  }, 60_000);
});

describe('what is emptied', () => {
  it('T34: takes one look when it is empty already', async () => {
    await start();
    const process = new Process();
    const durable = await provisioned(process);
    await process.settle('shop-cp-0', durable);
    expect(await settledBy(process, durable)).toEqual(['filesystem.listdir']);
  });

  it('T34: is every seed of the machine, and no file of anybody else', async () => {
    await start();
    const process = new Process();
    const durable = await provisioned(process);
    const folder = `/mnt/${factOf(durable, 'dataset')}`;
    const older = `${folder}/seed-0123456789abcdef.iso`;
    const [notes, other] = [`${folder}/seed-notes.txt`, '/mnt/tank/seed-0123456789abcdef.iso'];
    for (const path of [older, notes, other]) {
      const { text: reply } = await room.upload(path, 'version: v1alpha1', { mode: 0o644 });
      await (await room.login()).jobEnd(JSON.parse(reply).job_id);
    }
    await process.settle('shop-cp-0', durable);
    expect(readable().sort()).toEqual([notes, other].sort());
  });

  it('S48: is made again when somebody removed it, or the machine would not start any more', async () => {
    await start();
    const process = new Process();
    const durable = await provisioned(process);
    rmSync(realPath(room.room.nas, factOf(durable, 'seed')));
    await process.settle('shop-cp-0', durable);
    const { vmId } = durable.progress?.facts ?? {};
    await call('vm.poweroff', vmId);
    await call('vm.start', vmId);
    expect(room.runner.started).toHaveLength(2);
  });

  it('T34: is written again where it is not on record that the node has joined, and emptied when it is', async () => {
    await start();
    const process = new Process();
    const durable = await provisioned(process);
    await process.settle('shop-cp-0', durable);
    durable.progress = undefined;
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(made);
    expect(readable()).toEqual([factOf(durable, 'seed')]);
    await process.settle('shop-cp-0', durable);
    expect(readable()).toEqual([]);
  });

  it('T34: is nothing in a dataset that has lost our mark', async () => {
    await start();
    const process = new Process();
    const durable = await provisioned(process);
    const keys = ['installation', 'provider', 'machine'].map((key) => ({ key: `openmcp.talos:${key}`, remove: true }));
    const change = { comments: '', user_properties_update: keys };
    await call('pool.dataset.update', factOf(durable, 'dataset'), change);
    expect(await process.settle('shop-cp-0', durable)).toMatchObject({ kind: 'failed', reason: 'OwnedByOthers' });
    expect(readable()).toEqual([factOf(durable, 'seed')]);
  });
});
