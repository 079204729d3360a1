import { beforeEach, describe, expect, it } from 'vitest';
import { aMachine, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Machine } from '../../api/machine.ts';
import type { ObserveAllContext } from '../../engine/observation.ts';
import type { Facts } from '../../engine/step.ts';
import { TrueNasError } from '../../platforms/truenas/error-codes.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import type { Services } from '../shared/services.ts';
import { MachineMonitor } from './machine-monitor.ts';

const clock = new ManualClock();
/** The fingerprint of each machine, and the failure domain of each observation. */
let seen: Map<string, string>;
let reads: (string | undefined)[];
let stored: Map<string, Machine>;
/** The facts that the last observation got. */
let knownBy: Facts[];
let problem: Error | undefined;
let config: ReturnType<typeof aProviderConfig> | undefined;
let awoken: string[];
let monitor: MachineMonitor;
let stop = (): void => {};
/** The listeners of the location. */
let listeners: Set<() => void>;
/** What the subscription to changes of the location throws. */
let listenError: Error | undefined;

const observeAll = async ({ machines, failureDomain }: ObserveAllContext): Promise<string[]> => {
  reads.push(failureDomain);
  knownBy = machines.map(({ facts }) => facts);
  if (problem) throw problem;
  return machines.map(({ owner }) => seen.get(owner.machine) ?? 'gone');
};

const listen = (_: object, listener: () => void): (() => void) => {
  if (listenError) throw listenError;
  const own = () => listener();
  listeners.add(own);
  return () => listeners.delete(own);
};

const at = (slot: number, failureDomain?: string): Machine => {
  const machine = aMachine(slot);
  return { ...machine, spec: { ...machine.spec, ...(failureDomain === undefined ? {} : { failureDomain }) } };
};
const nameOf = (slot: number): string => aMachine(slot).metadata.name;

function keep(slot: number, failureDomain?: string): void {
  seen.set(nameOf(slot), `as ${slot}`);
  expect(monitor.add(at(slot, failureDomain), `as ${slot}`)).toBe(true);
}

beforeEach(() => {
  stop();
  [seen, reads, problem, config, awoken] = [new Map(), [], undefined, aProviderConfig(), []];
  [listeners, stored, knownBy, listenError] = [new Set(), new Map(), [], undefined];
  const machines = { get: ({ name }: { name: string }) => stored.get(name) };
  const locations = {
    ...{ clock, provider: 'talos', installation: 'here', namespace: 'openmcp-system', connections: {} },
    log: { error: (fields: object) => awoken.push(JSON.stringify(fields)) },
    platforms: [{ ...truenas, monitor: { observeAll, listen } }],
    stores: { providerConfigs: { get: () => config }, secrets: { get: () => ({ data: {} }) }, machines },
  } as unknown as Services;
  monitor = new MachineMonitor(locations);
  stop = monitor.source.subscribe(({ name }) => void awoken.push(name));
});

describe('idle machines', () => {
  it('are observed together in less than a minute, and not woken while nothing changes', async () => {
    for (const slot of [0, 1, 2]) keep(slot);
    await clock.advance(39_000);
    expect(reads).toEqual([]);
    await clock.advance(81_000);
    expect([reads, awoken]).toEqual([[undefined, undefined, undefined], []]);
  });

  it('are observed with the facts in the store, of which no copies are kept', async () => {
    keep(0);
    keep(1);
    const facts = { vm: '7' };
    const progress = { plan: 'provision' as const, step: '', since: '', failures: 0, facts };
    stored.set(nameOf(0), { ...at(0), status: { observedGeneration: 1, phase: '', conditions: [], progress } });
    await clock.advance(40_000);
    expect(knownBy[0]).toBe(facts);
    expect(knownBy[1]).toEqual({});
  });

  it('are woken once after a change', async () => {
    for (const slot of [0, 1, 2]) keep(slot);
    seen.set(nameOf(1), 'off');
    await clock.advance(120_000);
    expect(awoken).toEqual([nameOf(1)]);
  });

  it('are not woken while they are reconciled anyway', async () => {
    keep(0);
    monitor.release(nameOf(0));
    seen.set(nameOf(0), 'off');
    await clock.advance(120_000);
    expect([reads, awoken]).toEqual([[], []]);
  });

  it('are all woken if their location cannot be observed, and no others', async () => {
    keep(0);
    keep(1);
    problem = new TrueNasError('TRUENAS_UNREACHABLE', 'It is away.');
    await clock.advance(40_000);
    expect(awoken).toEqual([nameOf(0), nameOf(1)]);
  });

  it('are all woken if their ProviderConfig is gone', async () => {
    keep(0);
    config = undefined;
    await clock.advance(40_000);
    expect([reads, awoken]).toEqual([[], [nameOf(0)]]);
  });

  it('are observed by failure domain, and one from before its failure domains had names on its own', async () => {
    const system = { credentialsRef: { name: 'nas' }, pool: 'tank', bridge: 'br0' };
    const spec = aSpec((raw) => {
      const { sizes } = raw['truenas'] as { sizes: unknown };
      const systems = ['east', 'west'].map((name) => ({
        ...system,
        name,
        url: `wss://${name}.example.org/api/current`,
      }));
      raw['truenas'] = { sizes, systems };
    });
    config = aProviderConfig(spec);
    for (const [slot, failureDomain] of ['east', 'west', 'east', undefined].entries()) keep(slot, failureDomain);
    await clock.advance(40_000);
    expect([reads.sort(), awoken]).toEqual([['east', 'west'], [nameOf(3)]]);
  });

  it('are still woken after an internal error, which is logged', async () => {
    keep(0);
    problem = new TypeError('a fault');
    await clock.advance(40_000);
    expect(awoken).toEqual(['{"err":{}}']);
    [problem, awoken] = [undefined, []];
    seen.set(nameOf(0), 'off');
    await clock.advance(40_000);
    expect(awoken).toEqual([nameOf(0)]);
  });

  it('are not woken, and nothing is logged, if the connections end an observation', async () => {
    keep(0);
    problem = new DOMException('stopped', 'AbortError');
    await clock.advance(40_000);
    expect(reads).toHaveLength(1);
    expect(awoken).toEqual([]);
  });

  it('are not woken after the subscription has ended', async () => {
    keep(0);
    stop();
    seen.set(nameOf(0), 'off');
    await clock.advance(120_000);
    expect([reads, awoken]).toEqual([[], []]);
  });

  it('are observed as soon as their location reports a change', async () => {
    for (const slot of [0, 1]) keep(slot);
    await clock.advance(80_000);
    expect(listeners.size).toBe(1);
    seen.set(nameOf(1), 'off');
    for (const notify of listeners) notify();
    await clock.settle();
    expect(awoken).toEqual([nameOf(1)]);
    stop();
    expect(listeners.size).toBe(0);
  });

  it('are also observed for a change before the first observation', async () => {
    keep(0);
    await clock.settle();
    expect([listeners.size, reads]).toEqual([1, []]);
    seen.set(nameOf(0), 'off');
    for (const notify of listeners) notify();
    await clock.settle();
    expect(awoken).toEqual([nameOf(0)]);
  });

  it('are observed at intervals while the subscription to changes fails, which is repeated', async () => {
    listenError = new TrueNasError('CREDENTIALS_MISSING', 'The Secret has lost its key.');
    keep(0);
    await clock.advance(40_000);
    expect([listeners.size, reads, awoken]).toEqual([0, [undefined], []]);
    seen.set(nameOf(0), 'off');
    await clock.advance(40_000);
    expect(awoken).toEqual([nameOf(0)]);
    listenError = undefined;
    keep(0);
    await clock.advance(80_000);
    expect(listeners.size).toBe(1);
  });

  it('have no listener once none is left', async () => {
    keep(0);
    await clock.advance(40_000);
    monitor.release(nameOf(0));
    expect(listeners.size).toBe(1);
    await clock.advance(40_000);
    expect(listeners.size).toBe(0);
  });
});

it('does not monitor a platform that cannot observe all machines at once', () => {
  const other = aMachine();
  expect(monitor.add({ ...other, spec: { ...other.spec, platform: 'hetznerRobot' } }, 'as 0')).toBe(false);
});
