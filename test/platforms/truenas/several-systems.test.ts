import { afterEach, describe, expect, it } from 'vitest';
import { describeMachineProgress } from '../../../src/controllers/machine/describe.ts';
import { checkPlatform } from '../../../src/controllers/provider-config/check-platform.ts';
import type { Services } from '../../../src/controllers/shared/services.ts';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import type { StepContext } from '../../../src/engine/contexts.ts';
import type { Facts } from '../../../src/engine/step.ts';
import { noLog } from '../../../src/lib/log.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { startTrueNasFixture, type TrueNasFixture } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import {
  dumpWithoutImageCache,
  fixtureClock,
  type MachineRecord,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

let secondNas: TrueNasFixture;
afterEach(async () => await secondNas.close());

/** Two systems of different releases: that of the fixture, and one more. */
async function startBoth(): Promise<void> {
  await startTrueNasPlatformFixture({ version: '25.04.2' });
  secondNas = await startTrueNasFixture({
    version: '26',
    seed: { pools: [{ name: 'fast' }], interfaces: [{ name: 'br10' }] },
  });
}

interface Changes {
  readonly east?: object;
  readonly west?: object;
}

/** A section with both systems. */
const both = (change: Changes = {}, names: readonly string[] = ['east', 'west']) => {
  const { sizes } = platformConfig();
  const entry = (name: string, { simulator: { line }, ca }: TrueNasFixture) => ({
    ...{ name, url: line.url, caBundle: ca, credentialsRef: { name: `key-${name}` } },
  });
  const systems = [
    { ...entry('east', nasFixture), pool: 'tank', bridge: 'br0', ...change.east },
    { ...entry('west', secondNas), pool: 'fast', bridge: 'br10', datasetPrefix: 'k8s/talos', ...change.west },
  ];
  return { sizes, systems: systems.filter(({ name }) => names.includes(name)) };
};

const unreachableSystem = { url: '127.0.0.1:1' };
const keyOf = ({ simulator: { line } }: TrueNasFixture) => ({
  username: line.credentials['user'] ?? '',
  apiKey: line.credentials['apiKey'] ?? '',
});

/** A process for machines of one failure domain, with the controller's input. */
class PlacedProcess extends TrueNasProviderProcess {
  readonly #section: object;
  readonly #failureDomain: string | undefined;

  constructor(section: object, failureDomain: string | undefined) {
    super();
    this.#section = section;
    this.#failureDomain = failureDomain;
  }

  override context(machine: string, facts: Facts): StepContext {
    const base = super.context(machine, facts);
    // The key of another system would be rejected.
    const { username, apiKey } = keyOf(
      truenas.config.credentialsRef(this.#section, this.#failureDomain, facts) === 'key-west' ? secondNas : nasFixture,
    );
    const credentials = { username: new SecretString(username), apiKey: new SecretString(apiKey) };
    return { ...base, config: this.#section, credentials, node: { ...base.node, failureDomain: this.#failureDomain } };
  }
}

const newMachine = (): MachineRecord => ({ progress: undefined });
const orError = ({ kind }: AdvanceResult): boolean => kind === 'error';
const runPlanOn = (
  section: object,
  failureDomain: string | undefined,
  plan: 'provision' | 'release',
  durable: MachineRecord,
) => new PlacedProcess(section, failureDomain).walk(plan, 'shop-cp-1', durable, {}, orError);

const vmsOf = (at: TrueNasFixture) => [...at.simulator.nas.vms.values()].map(({ row }) => String(row['name']));
const callsOf = (at: TrueNasFixture) => at.switchboard.calls.filter(({ simulator: who }) => who === 'truenas').length;

describe('a machine of one of several systems', () => {
  it('T58: is created there, in its pool and at its bridge, and deleted again; the other system is never called', async () => {
    await startBoth();
    const [untouched, asked, durable] = [toJsonText(nasFixture.simulator.dump()), callsOf(nasFixture), newMachine()];
    expect(await runPlanOn(both(), 'west', 'provision', durable)).toMatchObject({ kind: 'finished' });
    const [vm = ''] = vmsOf(secondNas);
    expect(durable.progress?.facts).toMatchObject({
      system: new URL(secondNas.simulator.line.url).host,
      dataset: `fast/k8s/talos/${vm}`,
    });
    expect(toJsonText(secondNas.simulator.dump().devices)).toContain('"br10"');
    expect(await runPlanOn(both(), 'west', 'release', durable)).toMatchObject({ kind: 'finished' });
    expect([vmsOf(secondNas), toJsonText(nasFixture.simulator.dump()), callsOf(nasFixture)]).toEqual([
      [],
      untouched,
      asked,
    ]);
  });

  it('T58: waits when that one is away, while machines of others do not', async () => {
    await startBoth();
    const section = both({ east: unreachableSystem });
    expect(await runPlanOn(section, 'east', 'provision', newMachine())).toMatchObject({
      ...{ kind: 'error', error: { code: 'TRUENAS_UNREACHABLE' } },
    });
    expect(await runPlanOn(section, 'west', 'provision', newMachine())).toMatchObject({ kind: 'finished' });
  });

  it.each(['provision', 'release'] as const)(
    'T58: is not touched by %s after its system was removed from the list, and continues when that is back',
    async (plan) => {
      await startBoth();
      const durable = newMachine();
      await runPlanOn(both(), 'west', 'provision', durable);
      // Reverts to the state before the last steps.
      const { finishedAt: _, ...record } = durable.progress!;
      durable.progress = { ...record, step: 'devices-attached' };
      const [made, elsewhere] = [toJsonText(secondNas.simulator.dump()), toJsonText(nasFixture.simulator.dump())];
      const verdict = await runPlanOn(both({}, ['east']), 'west', plan, durable);
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'TRUENAS_SYSTEM_UNKNOWN' });
      expect(describeMachineProgress(verdict)).toMatch(
        /The machine is on west, 127\.0\.0\.1:\d+; the configured systems are east\. Restore it until the machine is deleted\./,
      );
      expect([toJsonText(secondNas.simulator.dump()), toJsonText(nasFixture.simulator.dump())]).toEqual([
        made,
        elsewhere,
      ]);
      expect(await runPlanOn(both(), 'west', plan, durable)).toMatchObject({ kind: 'finished' });
      expect(vmsOf(secondNas)).toHaveLength(plan === 'release' ? 0 : 1);
    },
  );

  it('T58: is found after its ProviderConfig has got a list, and after the removal of the list', async () => {
    await startBoth();
    const single = { ...platformConfig(), credentialsRef: { name: 'key-east' } };
    const before = toJsonText(dumpWithoutImageCache());
    const one = newMachine();
    await runPlanOn(single, undefined, 'provision', one);
    expect(await runPlanOn(both(), undefined, 'release', one)).toMatchObject({ kind: 'finished' });
    const other = newMachine();
    await runPlanOn(both(), 'east', 'provision', other);
    expect(await runPlanOn(single, 'east', 'release', other)).toMatchObject({ kind: 'finished' });
    expect(toJsonText(dumpWithoutImageCache())).toBe(before);
  });
});

describe('a ProviderConfig of several systems', () => {
  /** The message of its condition, when the Secrets of these systems exist. */
  async function judge(section: object, secrets: readonly string[] = ['east', 'west']) {
    const { connections, stop } = new TrueNasProviderProcess();
    const encoded = (at: TrueNasFixture) =>
      Object.fromEntries(Object.entries(keyOf(at)).map(([key, value]) => [key, btoa(value)]));
    const objects = new Map(
      secrets.map((name) => [`key-${name}`, { data: encoded(name === 'west' ? secondNas : nasFixture) }]),
    );
    const services = {
      ...{ namespace: 'ours', connections, clock: fixtureClock },
      stores: { secrets: { get: ({ name }: { name: string }) => objects.get(name) } },
    } as unknown as Services;
    const chosen = { platform: truenas, config: section, section: undefined as never };
    return (await checkPlatform(services, chosen, { signal: stop.signal, log: noLog })).state;
  }

  it('T58: is valid when all are', async () => {
    await startBoth();
    expect(await judge(both())).toMatchObject({ type: 'CredentialsValid', status: 'True' });
  });

  it('T58: reports invalid fields before unreachable systems', async () => {
    await startBoth();
    const wrong = await judge(both({ east: unreachableSystem, west: { pool: 'tank' } }));
    expect(wrong).toMatchObject({ status: 'False', reason: 'PlatformRejected' });
    expect(wrong.message).toMatch(
      /^truenas\.systems\[1\]\.pool: \S+ has no pool tank\. Existing pools: fast\. east: The TrueNAS system could not be reached\..*127\.0\.0\.1:1/,
    );
    const absent = await judge(both({ east: unreachableSystem }));
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
