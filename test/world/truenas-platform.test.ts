import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { advance, type Progress, type Verdict } from '../../src/engine/advance.ts';
import { OpenConnections } from '../../src/engine/connections.ts';
import type { Facts, StepContext } from '../../src/engine/platform.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { ProviderError } from '../../src/lib/errors.ts';
import { noLog } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { truenas } from '../../src/platforms/truenas/index.ts';
import { WorldClock } from './clock.ts';
import { type ImageFactoryRoom, startImageFactory } from './image-factory/index.ts';
import type { Call } from './switchboard.ts';
import { type Bench, bench } from './truenas/testing.ts';

/** Fifty times faster than life. */
const clock: Clock = {
  now: () => new Date(Date.UTC(2026, 10, 21) + performance.now() * 50),
  monotonic: () => performance.now() * 50,
  sleep: (ms, signal) => delay(ms / 50, undefined, signal ? { signal } : {}),
};

const schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };
/** What outlives a crash: the record of one Machine and the claims on addresses. */
interface Durable {
  progress: Progress | undefined;
}

let room: Bench;
let factory: ImageFactoryRoom;
let factoryUrl: string;
let claims: Map<string, string>;
let open: Process[];

/** One life of the provider's process. */
class Process {
  readonly connections = new OpenConnections();
  readonly stop = new AbortController();

  constructor() {
    open.push(this);
  }

  context(machine: string, facts: Facts, change: object = {}): StepContext {
    return {
      config: { ...config(), ...change },
      credentials: credentials(),
      owner: { installation: 'installation-1', provider: 'talos', machine },
      node: {
        name: machine,
        role: 'controlplane',
        pool: 'cp',
        size: 'small',
        cluster: { namespace: 'shop', name: 'shop' },
        talos: { version: '1.13.9', schematic, factoryUrl },
        labels: {},
      },
      facts,
      addresses: {
        claim: async () => {
          const address = claims.get(machine) ?? `192.168.10.${20 + claims.size}`;
          claims.set(machine, address);
          return { address, prefix: 24, gateway: '192.168.10.1' };
        },
        release: async () => {
          claims.delete(machine);
        },
      },
      connections: this.connections,
      machineConfig: async (hardware) => new Secret(`# for ${JSON.stringify(hardware)}\nversion: v1alpha1\n`),
      log: noLog,
      clock,
      signal: this.stop.signal,
    };
  }

  /** Walks until the list is finished or somebody has to change something; what passes by itself is waited for. */
  async walk(plan: 'provision' | 'release', machine: string, durable: Durable, change: object = {}): Promise<Verdict> {
    for (let round = 0; round < 300; round += 1) {
      const verdict = await advance({
        plan,
        steps: truenas[plan],
        progress: durable.progress,
        context: (facts) => this.context(machine, facts, change),
        save: async (progress) => {
          this.stop.signal.throwIfAborted();
          durable.progress = structuredClone(progress);
        },
        clock,
        signal: this.stop.signal,
      });
      if (verdict.kind === 'finished' || verdict.kind === 'failed') return verdict;
      if (verdict.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
      await clock.sleep(Math.min(verdict.seconds, 5) * 1000, this.stop.signal);
    }
    throw new Error(`${machine} does not get through ${durable.progress?.step}`);
  }

  /** As `kill -9` would: sockets end, nothing is written any more. */
  async kill(): Promise<void> {
    this.stop.abort(new Error('killed'));
    await this.connections.close();
  }
}

const config = () => ({
  url: room.room.line.url,
  credentialsRef: { name: 'nas' },
  caBundle: room.ca,
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
});
const credentials = () => ({
  username: new Secret(room.room.line.credentials['user'] ?? ''),
  apiKey: new Secret(room.room.line.credentials['apiKey'] ?? ''),
});
const check = (process: Process, change: object = {}, secrets: object = credentials()) =>
  truenas.check({ ...process.context('none', {}, change), credentials: secrets as ReturnType<typeof credentials> });

async function start(options: Parameters<typeof bench>[0] = {}): Promise<void> {
  room = await bench(options);
  factory = await startImageFactory({
    host: '127.0.0.1',
    port: 0,
    folder: tmpdir(),
    clock: new WorldClock(0.001),
    switchboard: room.switchboard,
    runner: room.runner,
    extra: {},
  });
  factoryUrl = factory.line.url;
}
async function end(): Promise<void> {
  for (const process of open) await process.kill();
  await factory.close();
  await room.close();
}

const text = (value: unknown) => JSON.stringify(value, null, 1);
const dump = () => room.room.dump();
/** Everything but the cache of images and the folders around it, which stay on purpose. */
const withoutCache = () => {
  const all = dump();
  const kept = (id: string) => !/^(\/mnt\/)?tank\/talos(\/images(\/|$)|$)/.test(id);
  return {
    ...all,
    datasets: all.datasets.filter((dataset) => kept((dataset as { id: string }).id)),
    files: all.files.filter((file) => kept((file as { path: string }).path)),
  };
};
/** What exists, without the numbers and dates that differ each time. */
const shape = () => {
  const state = dump();
  return {
    datasets: state.datasets.map((one) => (one as { id: string }).id),
    files: state.files.flatMap((one) => ('size' in one ? [(one as unknown as { path: string }).path] : [])),
    vms: state.vms.map(
      (one) => (one as { name?: string; row?: { name: string } }).row?.name ?? (one as { name: string }).name,
    ),
    devices: state.devices.length,
  };
};
const vmOf = (machine: string) =>
  [...room.room.nas.vms.values()].find((vm) => String(vm.row['name']).startsWith(machine.replaceAll('-', '_')));
const downloads = () => room.switchboard.calls.filter(({ name }) => /^GET \/image\//.test(name)).length;
const changing = /^(POST|.*\.(create|update|delete|start|stop|poweroff|resume)$)/;

beforeEach(async () => {
  claims = new Map();
  open = [];
});
afterEach(end);

describe('a machine on TrueNAS', () => {
  it('comes into being complete, runs, and goes without a trace but the cached image', async () => {
    await start();
    const before = text(dump());
    const durable: Durable = { progress: undefined };
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    const vm = vmOf('shop-cp-0');
    expect(vm?.row).toMatchObject({
      cpu_mode: 'HOST-PASSTHROUGH',
      vcpus: 1,
      cores: 2,
      memory: 4096,
      time: 'UTC',
      autostart: true,
      suspend_on_snapshot: false,
      bootloader: 'UEFI',
    });
    const [machine] = room.runner.started;
    expect(machine).toMatchObject({ vcpus: 2, memoryMiB: 4096, firmware: 'uefi', cpuModel: 'host' });
    expect(machine?.disks.map(({ sizeBytes, bus }) => [sizeBytes, bus])).toEqual([[40 * 2 ** 30, 'virtio']]);
    expect(machine?.cdroms.map(({ path }) => path.split('/').at(-1))).toEqual([
      'nocloud-amd64.iso',
      expect.stringMatching(/^seed-/),
    ]);
    expect(Math.max(...machine!.disks.map(({ order }) => order))).toBeLessThan(
      Math.min(...machine!.cdroms.map(({ order }) => order)),
    );
    expect(machine?.nics).toMatchObject([{ mac: durable.progress?.facts['mac'], bridge: 'br0' }]);
    expect(await truenas.observe(process.context('shop-cp-0', durable.progress!.facts))).toEqual({
      exists: true,
      powered: 'on',
    });

    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(text(withoutCache())).toBe(before);
    expect(shape().files).toEqual([expect.stringMatching(/^\/mnt\/tank\/talos\/images\/.*\/nocloud-amd64\.iso$/)]);
    expect(claims.size).toBe(0);
    expect(await truenas.observe(process.context('shop-cp-0', {}))).toEqual({ exists: false });
  });

  it('keeps secrets out of its facts', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const facts = text(durable.progress?.facts);
    expect(facts).not.toContain(room.room.line.credentials['apiKey']);
    expect(Object.keys(durable.progress!.facts).sort()).toEqual(
      [
        'address',
        'dataset',
        'gateway',
        'image',
        'imageBytes',
        'imageModified',
        'mac',
        'prefix',
        'seed',
        'started',
        'system',
        'uuid',
        'vm',
        'vmId',
      ].sort(),
    );
  });

  it('shares one copy of the boot image with those that are made at the same time', async () => {
    await start();
    const process = new Process();
    const machines = ['a-0', 'a-1', 'a-2', 'a-3'];
    const verdicts = await Promise.all(
      machines.map((name) => process.walk('provision', name, { progress: undefined })),
    );
    expect(verdicts.map(({ kind }) => kind)).toEqual(Array(4).fill('finished'));
    expect(downloads()).toBe(1);
    expect(room.room.nas.vms.size).toBe(4);
    expect(new Set(claims.values()).size).toBe(4);
  });

  it('is shut down by its button when it is a member, and switched off when it does not mind', async () => {
    await start();
    for (const minding of [true, false]) {
      room.runner.minding = minding;
      const durable: Durable = { progress: undefined };
      const process = new Process();
      await process.walk('provision', 'shop-cp-0', durable);
      durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, joined: true } };
      room.switchboard.calls.length = 0;
      expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      const names = room.switchboard.calls.map(({ name }) => name);
      expect(names.filter((name) => name === 'vm.stop')).toHaveLength(1);
      expect(names.filter((name) => name === 'vm.poweroff')).toHaveLength(minding ? 0 : 1);
    }
  });

  it.each(['25.04.2', '25.10', '26'])('lives its whole life on TrueNAS %s', async (version) => {
    await start({ version });
    const process = new Process();
    expect(await check(process)).toEqual([]);
    const durable: Durable = { progress: undefined };
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(shape()).toMatchObject({
      vms: [],
      devices: 0,
      datasets: ['tank', 'tank/talos', 'tank/talos/images', expect.stringMatching(/images\//)],
    });
  });
});

describe('whatever happens on the way', () => {
  /** Provision and release without a fault: what it makes, and which calls it takes. */
  async function rehearse() {
    await start();
    const first: Durable = { progress: undefined };
    await new Process().walk('provision', 'warm-up', first);
    await new Process().walk('release', 'warm-up', first);
    const empty = text(dump());
    room.switchboard.calls.length = 0;
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const provision = room.switchboard.calls.map(({ name }) => name);
    const made = text(shape());
    room.switchboard.calls.length = 0;
    await new Process().walk('release', 'shop-cp-0', durable);
    expect(text(dump())).toBe(empty);
    return { empty, made, provision, release: room.switchboard.calls.map(({ name }) => name) };
  }

  it('killed at any call, of making or of unmaking, it goes on to the same end: nothing doubled, nothing left', async () => {
    const { empty, made, provision, release } = await rehearse();
    for (let at = 0; at < provision.length + release.length; at += 1) {
      const durable: Durable = { progress: undefined };
      let process = new Process();
      let seen = 0;
      const killAt = (call: Call) => {
        if (seen === at) void process.kill();
        if (call.room === 'truenas') seen += 1;
      };
      const hush = room.switchboard.onCall(killAt);
      const resume = async (plan: 'provision' | 'release') => {
        const verdict = await process.walk(plan, 'shop-cp-0', durable).catch((error: unknown) => error);
        if (!process.stop.signal.aborted) return verdict;
        process = new Process();
        return await process.walk(plan, 'shop-cp-0', durable);
      };
      const where = `killed at call ${at} (${[...provision, ...release][at]})`;
      expect(await resume('provision'), where).toMatchObject({ kind: 'finished' });
      expect(text(shape()), where).toBe(made);
      expect(await resume('release'), where).toMatchObject({ kind: 'finished' });
      hush();
      expect(text(dump()), where).toBe(empty);
      await process.kill();
    }
  }, 180_000);

  it('killed at any call and then taken back, nothing is left of what was half made', async () => {
    const { empty, provision } = await rehearse();
    for (let at = 0; at < provision.length; at += 1) {
      const durable: Durable = { progress: undefined };
      const process = new Process();
      let seen = 0;
      const hush = room.switchboard.onCall(() => {
        if (seen === at) void process.kill();
        seen += 1;
      });
      await process.walk('provision', 'shop-cp-0', durable).catch(() => {});
      hush();
      const where = `killed at call ${at} (${provision[at]})`;
      expect(await new Process().walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      expect(text(dump()), where).toBe(empty);
      expect(claims.size, where).toBe(0);
    }
  }, 180_000);

  it('killed at any call while the boot image is copied, it copies it again and boots from a complete one only', async () => {
    await start();
    const before = shape().files;
    const undisturbed: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', undisturbed);
    const imageOf = ({ progress }: Durable) =>
      dump().files.find((one) => (one as { path: string }).path === progress?.facts['image']);
    const wanted = imageOf(undisturbed);
    const clean = async () => {
      await new Process().walk('release', 'shop-cp-0', undisturbed);
      const client = await room.login();
      await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
    };
    await clean();
    for (let at = 0; at < 12; at += 1) {
      const durable: Durable = { progress: undefined };
      const process = new Process();
      let seen = 0;
      const hush = room.switchboard.onCall(() => {
        if (seen === at) void process.kill();
        seen += 1;
      });
      await process.walk('provision', 'shop-cp-0', durable).catch(() => {});
      hush();
      const where = `killed at call ${at} (${room.switchboard.calls.at(-1)?.name})`;
      const next = new Process();
      expect(await next.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      expect(imageOf(durable), where).toEqual(wanted);
      expect(await next.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      const client = await room.login();
      await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
      expect(shape().files, where).toEqual(before);
      await next.kill();
    }
  }, 180_000);

  it.each(['lose-reply', 'drop'] as const)(
    'with %s at any call that changes something, it comes to the same end',
    async (kind) => {
      const { empty, made, provision, release } = await rehearse();
      for (const [plan, names] of [
        ['provision', provision],
        ['release', release],
      ] as const) {
        const counted = names.map((name, index) => ({
          name,
          nth: names.slice(0, index).filter((one) => one === name).length,
        }));
        for (const { name, nth } of counted.filter((call) => changing.test(call.name))) {
          const where = `${kind} at ${name}, number ${nth}`;
          const durable: Durable = { progress: undefined };
          const process = new Process();
          const pattern = new RegExp(`^${name.replace(/[.*+?^$/()|[\]\\]/g, '\\$&')}$`);
          if (plan === 'provision') room.switchboard.fail('truenas', pattern, { kind }, 1, nth);
          expect(await process.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
          expect(text(shape()), where).toBe(made);
          if (plan === 'release') room.switchboard.fail('truenas', pattern, { kind }, 1, nth);
          expect(await process.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
          expect(text(dump()), where).toBe(empty);
          room.switchboard.clear();
          await process.kill();
        }
      }
    },
    180_000,
  );

  it('a restart of the middleware in the middle changes nothing about the end', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    let restarted: Promise<void> | undefined;
    room.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create') restarted ??= room.room.restart();
    });
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    await restarted;
    expect(shape()).toMatchObject({ vms: [expect.stringMatching(/^shop_cp_0_/)], devices: 4 });
  });

  it.each([
    ['truenas', /^POST/, { kind: 'drop' }],
    ['truenas', /^POST/, { kind: 'error', status: 500 }],
    ['image-factory', /^GET/, { kind: 'drop' }],
    ['image-factory', /^GET/, { kind: 'lose-reply' }],
    ['image-factory', /^GET/, { kind: 'error', status: 503 }],
  ] as const)(
    'a copy that broke (%s %s %j) is made again and leaves no image that anybody would boot from',
    async (where, match, fault) => {
      await start();
      room.switchboard.fail(where, match, fault, 1);
      const durable: Durable = { progress: undefined };
      expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(downloads()).toBe(2);
    },
  );

  it('a job that fails after its 200 is noticed (gap G9)', async () => {
    await start();
    room.room.failNextJob('filesystem.put', 'it broke');
    const durable: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(downloads()).toBe(2);
  });

  it('a VM that was started before it had devices is switched off first (gap G1, trap 60)', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const first = new Process();
    room.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create' && room.runner.started.length === 0) void first.kill();
    });
    await first.walk('provision', 'shop-cp-0', durable).catch(() => {});
    await room.room.restart({ hostReboot: true });
    expect(room.runner.started).toHaveLength(1);
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(room.runner.started).toHaveLength(2);
    expect(room.runner.started[1]?.cdroms).toHaveLength(2);
  });

  it('a device that gets lost before the start is put back', async () => {
    await start();
    const client = await room.login();
    let lost = false;
    room.switchboard.onCall(({ name }) => {
      if (name !== 'vm.device.create' || lost) return;
      const [device] = room.room.nas.devices.values();
      lost = device !== undefined;
      if (device) void client.call('vm.device.delete', device.id);
    });
    expect(await new Process().walk('provision', 'shop-cp-0', { progress: undefined })).toMatchObject({
      kind: 'finished',
    });
    expect(lost).toBe(true);
    expect(room.runner.started[0]?.disks).toHaveLength(1);
  });
});

describe('what belongs to others', () => {
  it('a VM of our name is refused and stays as it is, also on release', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['vm']);
    await new Process().walk('release', 'shop-cp-0', durable);
    await end();
    open = [];
    await start({ seed: { vms: [{ name, row: { memory: 1024, description: 'mine' }, devices: [] }] } });
    const before = text(dump().vms);
    const fresh: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
      message: expect.stringContaining(name),
    });
    expect(text(dump().vms)).toBe(before);
    expect(await new Process().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(text(dump().vms)).toBe(before);
    expect(shape().datasets).not.toContainEqual(expect.stringContaining(name));
  });

  it('a dataset of our name is refused and stays as it is, also on release', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['dataset']);
    await end();
    open = [];
    const datasets = [{ name: 'tank/talos' }, { name }, { name: `${name}/boot`, volumeBytes: 2 ** 30 }];
    await start({ seed: { datasets } });
    const before = text(withoutCache().datasets);
    const fresh: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
    });
    expect(await new Process().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(text(withoutCache().datasets)).toBe(before);
  });

  it('a disk of ours that somebody uses in another VM is not destroyed', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const client = await room.login();
    const other = await client.call('vm.create', { name: 'other', memory: 1024 });
    const path = `/dev/zvol/${durable.progress?.facts['dataset']}/boot`;
    await client.call('vm.device.create', { vm: other.id, attributes: { dtype: 'DISK', path } });
    expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'DatasetInUse',
    });
    expect(shape().datasets).toContain(`${durable.progress?.facts['dataset']}/boot`);
  });

  it('something that somebody put below our dataset is not destroyed', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const client = await room.login();
    const name = `${durable.progress?.facts['dataset']}/backup`;
    await client.call('pool.dataset.create', { name });
    expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'DatasetInUse',
    });
    expect(shape().datasets).toContain(name);
  });

  it('two installations with the same names live side by side', async () => {
    await start();
    const [one, two] = [new Process(), new Process()];
    const context = two.context.bind(two);
    two.context = (machine, facts, change) => ({
      ...context(machine, facts, change),
      owner: { installation: 'installation-2', provider: 'talos', machine },
    });
    const [first, second]: [Durable, Durable] = [{ progress: undefined }, { progress: undefined }];
    await Promise.all([one.walk('provision', 'shop-cp-0', first), two.walk('provision', 'shop-cp-0', second)]);
    expect(room.room.nas.vms.size).toBe(2);
    const kept = text(room.room.nas.vms.get(Number(second.progress?.facts['vmId']))?.row);
    expect(await one.walk('release', 'shop-cp-0', first)).toMatchObject({ kind: 'finished' });
    expect(room.room.nas.vms.size).toBe(1);
    expect(text(room.room.nas.vms.get(Number(second.progress?.facts['vmId']))?.row)).toBe(kept);
  });
});

describe('what a person has to mend', () => {
  it('a pool without room says so and is gone on with when there is some', async () => {
    await start();
    await room.room.fillPool('tank', 10 * 2 ** 30);
    const durable: Durable = { progress: undefined };
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_POOL_FULL',
    });
    await room.room.fillPool('tank', 500 * 2 ** 30);
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('memory that is not there says so at the start, and nothing is made twice (trap 21)', async () => {
    await start({ seed: { memoryMiB: 2048 } });
    const durable: Durable = { progress: undefined };
    const process = new Process();
    for (let i = 0; i < 3; i += 1) {
      expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'TRUENAS_MEMORY_SHORT',
      });
    }
    expect(room.room.nas.vms.size).toBe(1);
  });

  it('a cached image that was changed is not booted from (trap 25)', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const path = String(durable.progress?.facts['image']);
    await room.upload(path, 'something else', { mode: 0o644 });
    expect(await new Process().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_IMAGE_CHANGED',
      message: expect.stringContaining(path),
    });
  });

  it('another system under truenas.url is not taken for one where nothing is left', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    await process.walk('provision', 'shop-cp-0', durable);
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, system: 'other.example.org' } };
    const { vms, datasets } = room.room.nas;
    const kept = { vms: [...vms], datasets: [...datasets] };
    vms.clear();
    for (const id of [...datasets.keys()]) if (id.includes('shop_cp_0')) datasets.delete(id);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'SystemChanged',
    });
    for (const [id, vm] of kept.vms) vms.set(id, vm);
    for (const [id, dataset] of kept.datasets) datasets.set(id, dataset);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });
});

describe('the check of a ProviderConfig', () => {
  it('finds nothing wrong with what is right, and makes nothing', async () => {
    await start();
    const before = text(dump());
    expect(await check(new Process())).toEqual([]);
    expect(text(dump())).toBe(before);
  });

  it.each([
    [{ pool: 'tonk' }, 'truenas.pool', 'PoolUnknown', /tank/],
    [{ bridge: 'br7' }, 'truenas.bridge', 'BridgeUnknown', /br0/],
    [{ caBundle: undefined }, 'truenas.caBundle', 'TlsUntrusted', /caBundle/],
  ])('%j: %s is named, with what there is', async (change, field, reason, message) => {
    await start();
    expect(await check(new Process(), change)).toEqual([{ field, reason, message: expect.stringMatching(message) }]);
  });

  it('names the Secret for a wrong, a revoked and a missing key', async () => {
    await start();
    const wrong = { ...credentials(), apiKey: new Secret('1-wrong') };
    const finding = { field: 'truenas.credentialsRef' };
    expect(await check(new Process(), {}, wrong)).toMatchObject([{ ...finding, reason: 'KeyRefused' }]);
    expect(await check(new Process(), {}, { username: new Secret('root') })).toMatchObject([
      { ...finding, reason: 'CredentialsMissing' },
    ]);
    room.room.revokeKey('root');
    expect(await check(new Process())).toMatchObject([{ ...finding, reason: 'KeyExpired' }]);
  });

  it('names a role that is missing before anything fails for it', async () => {
    const roles = ['READONLY_ADMIN', 'VM_WRITE', 'VM_DEVICE_WRITE', 'DATASET_WRITE', 'DATASET_DELETE'];
    await start({ seed: { users: [{ name: 'small', apiKey: 'k'.repeat(64), roles }] } });
    expect(await check(new Process())).toMatchObject([{ field: 'truenas.credentialsRef', reason: 'RoleMissing' }]);
  });

  it('refuses a version without virtual machines by name (gap G12, trap 56)', async () => {
    await start({ version: '25.04.1' });
    expect(await check(new Process())).toMatchObject([
      { field: 'truenas.url', reason: 'VersionUnsupported', message: expect.stringContaining('25.04.1') },
    ]);
  });

  it('throws what passes by itself, so that it is looked at again soon', async () => {
    await start();
    await expect(check(new Process(), { url: '127.0.0.1:1' })).rejects.toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
  });

  it('sees a prefix that is a zvol, a faulted pool and a host that cannot run machines', async () => {
    await start({ seed: { datasets: [{ name: 'tank/talos', volumeBytes: 2 ** 30 }] } });
    expect(await check(new Process())).toMatchObject([{ field: 'truenas.datasetPrefix', reason: 'PrefixUnusable' }]);
    room.room.nas.pools.get('tank')!.status = 'FAULTED';
    Object.assign(room.room.nas, { hasKvm: false });
    expect(await check(new Process())).toContainEqual(expect.objectContaining({ reason: 'VirtualizationUnsupported' }));
    expect(await check(new Process())).toContainEqual(
      expect.objectContaining({ field: 'truenas.pool', reason: 'PoolUnhealthy' }),
    );
  });
});

describe('a machine that is observed', () => {
  it.each<[string, (machine: string) => void | Promise<void>, object]>([
    ['switched off by hand', (name) => room.room.powerOff(name), { exists: true, powered: 'off' }],
    ['deleted by hand', (name) => room.room.loseVm(name), { exists: false }],
    [
      'without its disk',
      (name) => room.room.loseDevice(name, ({ dtype }) => dtype === 'DISK'),
      { exists: true, powered: 'on', drift: expect.stringContaining('boot disk') },
    ],
    [
      'without its network card',
      (name) => room.room.loseDevice(name, ({ dtype }) => dtype === 'NIC'),
      { exists: true, powered: 'on', drift: expect.stringContaining('network card') },
    ],
  ])('%s is seen as that', async (_, breakIt, expected) => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    await process.walk('provision', 'shop-cp-0', durable);
    const { facts } = durable.progress!;
    await breakIt(String(facts['vm']));
    room.switchboard.calls.length = 0;
    expect(await truenas.observe(process.context('shop-cp-0', facts))).toEqual(expected);
    expect(room.switchboard.calls.map(({ name }) => name)).toEqual(['vm.query']);
  });
});
