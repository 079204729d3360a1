import { afterEach, describe, expect, it } from 'vitest';
import { describeMessage } from '../../../src/controllers/machine/describe.ts';
import { askPlatform } from '../../../src/controllers/provider-config/ask-platform.ts';
import type { Services } from '../../../src/controllers/services.ts';
import type { Plan, Verdict } from '../../../src/engine/advance.ts';
import type { Facts, StepContext } from '../../../src/engine/platform.ts';
import { noLog } from '../../../src/lib/log.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { type Bench, bench } from '../truenas/testing.ts';
import { clock, config, type Durable, Process, room, start, text, useScene, withoutCache } from './scene.ts';

useScene();

let west: Bench;
afterEach(async () => await west.close());

/** Two systems of different releases: that of the scene, and one more. */
async function startBoth(): Promise<void> {
  await start({ version: '25.04.2' });
  west = await bench({ version: '26', seed: { pools: [{ name: 'fast' }], interfaces: [{ name: 'br10' }] } });
}

interface Changes {
  readonly east?: object;
  readonly west?: object;
}

/** A section that names both. */
const both = (change: Changes = {}, names: readonly string[] = ['east', 'west']) => {
  const { sizes } = config();
  const entry = (name: string, { room: { line }, ca }: Bench) => ({
    ...{ name, url: line.url, caBundle: ca, credentialsRef: { name: `key-${name}` } },
  });
  const systems = [
    { ...entry('east', room), pool: 'tank', bridge: 'br0', ...change.east },
    { ...entry('west', west), pool: 'fast', bridge: 'br10', datasetPrefix: 'k8s/talos', ...change.west },
  ];
  return { sizes, systems: systems.filter(({ name }) => names.includes(name)) };
};

const away = { url: '127.0.0.1:1' };
const keyOf = ({ room: { line } }: Bench) => ({
  username: line.credentials['user'] ?? '',
  apiKey: line.credentials['apiKey'] ?? '',
});

/** A process that works for machines of one place, as the controller would have it. */
class Placed extends Process {
  readonly #section: object;
  readonly #site: string | undefined;

  constructor(section: object, site: string | undefined) {
    super();
    this.#section = section;
    this.#site = site;
  }

  override context(machine: string, facts: Facts): StepContext {
    const base = super.context(machine, facts);
    // The key of another system would be refused.
    const { username, apiKey } = keyOf(
      truenas.credentialsRef(this.#section, this.#site, facts) === 'key-west' ? west : room,
    );
    const credentials = { username: new Secret(username), apiKey: new Secret(apiKey) };
    return { ...base, config: this.#section, credentials, node: { ...base.node, site: this.#site } };
  }
}

const newMachine = (): Durable => ({ progress: undefined });
const orError = ({ kind }: Verdict): boolean => kind === 'error';
const walk = (section: object, site: string | undefined, plan: Exclude<Plan, 'mend'>, durable: Durable) =>
  new Placed(section, site).walk(plan, 'shop-cp-1', durable, {}, orError);

const vmsOf = (at: Bench) => [...at.room.nas.vms.values()].map(({ row }) => String(row['name']));
const callsOf = (at: Bench) => at.switchboard.calls.filter(({ room: who }) => who === 'truenas').length;

describe('a machine of one of several systems', () => {
  it('T58: is made there, in its pool and at its bridge, and goes again; the other system is not even asked', async () => {
    await startBoth();
    const [untouched, asked, durable] = [text(room.room.dump()), callsOf(room), newMachine()];
    expect(await walk(both(), 'west', 'provision', durable)).toMatchObject({ kind: 'finished' });
    const [vm = ''] = vmsOf(west);
    expect(durable.progress?.facts).toMatchObject({
      system: new URL(west.room.line.url).host,
      dataset: `fast/k8s/talos/${vm}`,
    });
    expect(text(west.room.dump().devices)).toContain('"br10"');
    expect(await walk(both(), 'west', 'release', durable)).toMatchObject({ kind: 'finished' });
    expect([vmsOf(west), text(room.room.dump()), callsOf(room)]).toEqual([[], untouched, asked]);
  });

  it('T58: waits when that one is away, as none of another does', async () => {
    await startBoth();
    const section = both({ east: away });
    expect(await walk(section, 'east', 'provision', newMachine())).toMatchObject({
      ...{ kind: 'error', error: { code: 'TRUENAS_UNREACHABLE' } },
    });
    expect(await walk(section, 'west', 'provision', newMachine())).toMatchObject({ kind: 'finished' });
  });

  it.each(['provision', 'release'] as const)(
    'T58: is not touched by %s after its system was taken from the list, and goes on when that is back',
    async (plan) => {
      await startBoth();
      const durable = newMachine();
      await walk(both(), 'west', 'provision', durable);
      // As if its process had ended before the last steps.
      const { finishedAt: _, ...record } = durable.progress!;
      durable.progress = { ...record, step: 'devices-attached' };
      const [made, elsewhere] = [text(west.room.dump()), text(room.room.dump())];
      const verdict = await walk(both({}, ['east']), 'west', plan, durable);
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'TRUENAS_SYSTEM_UNKNOWN' });
      expect(describeMessage(verdict)).toMatch(
        /The machine is on west, 127\.0\.0\.1:\d+; there are east\. Put it back until the machine is gone\./,
      );
      expect([text(west.room.dump()), text(room.room.dump())]).toEqual([made, elsewhere]);
      expect(await walk(both(), 'west', plan, durable)).toMatchObject({ kind: 'finished' });
      expect(vmsOf(west)).toHaveLength(plan === 'release' ? 0 : 1);
    },
  );

  it('T58: is found after its ProviderConfig has got a list, and after that has gone again', async () => {
    await startBoth();
    const single = { ...config(), credentialsRef: { name: 'key-east' } };
    const before = text(withoutCache());
    const one = newMachine();
    await walk(single, undefined, 'provision', one);
    expect(await walk(both(), undefined, 'release', one)).toMatchObject({ kind: 'finished' });
    const other = newMachine();
    await walk(both(), 'east', 'provision', other);
    expect(await walk(single, 'east', 'release', other)).toMatchObject({ kind: 'finished' });
    expect(text(withoutCache())).toBe(before);
  });
});

describe('a ProviderConfig of several systems', () => {
  /** What its condition says, when the Secrets of these systems exist. */
  async function judge(section: object, secrets: readonly string[] = ['east', 'west']) {
    const { connections, stop } = new Process();
    const encoded = (at: Bench) =>
      Object.fromEntries(Object.entries(keyOf(at)).map(([key, value]) => [key, btoa(value)]));
    const objects = new Map(secrets.map((name) => [`key-${name}`, { data: encoded(name === 'west' ? west : room) }]));
    const services = {
      ...{ namespace: 'ours', connections, clock },
      stores: { secrets: { get: ({ name }: { name: string }) => objects.get(name) } },
    } as unknown as Services;
    const chosen = { platform: truenas, config: section, section: undefined as never };
    return (await askPlatform(services, chosen, { signal: stop.signal, log: noLog })).state;
  }

  it('T58: is right when all are', async () => {
    await startBoth();
    expect(await judge(both())).toMatchObject({ type: 'CredentialsValid', status: 'True' });
  });

  it('T58: tells what is wrong by its field, before who is away', async () => {
    await startBoth();
    const wrong = await judge(both({ east: away, west: { pool: 'tank' } }));
    expect(wrong).toMatchObject({ status: 'False', reason: 'PlatformRefused' });
    expect(wrong.message).toMatch(
      /^truenas\.systems\[1\]\.pool: There is no pool tank on \S+ There are these pools: fast\. east: The TrueNAS system could not be reached\..*127\.0\.0\.1:1/,
    );
    const absent = await judge(both({ east: away }));
    expect(absent).toMatchObject({ status: 'False', reason: 'PlatformUnreachable' });
    expect(absent.message).toMatch(/^east: The TrueNAS system could not be reached\./);
  });

  it('T58: names the Secret that is missing', async () => {
    await startBoth();
    expect(await judge(both(), ['east'])).toMatchObject({
      reason: 'CredentialsMissing',
      message: 'truenas.systems[1].credentialsRef: there is no Secret key-west in namespace ours. Create it.',
    });
  });
});
