import { beforeEach, describe, expect, it } from 'vitest';
import { aMachine, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Machine } from '../../api/machine.ts';
import type { ObserveAllContext } from '../../engine/observation.ts';
import type { Facts } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import type { Services } from '../shared/services.ts';
import { MachineMonitor } from './machine-monitor.ts';

const clock = new ManualClock();
/** What is seen of each machine, and how often somebody looked where. */
let seen: Map<string, string>;
let looks: (string | undefined)[];
let stored: Map<string, Machine>;
/** The facts by which the last look knew its machines. */
let knownBy: Facts[];
let trouble: Error | undefined;
let config: ReturnType<typeof aProviderConfig> | undefined;
let woken: string[];
let vigil: MachineMonitor;
let stop = (): void => {};
/** Those who listen to the place. */
let ears: Set<() => void>;

const glance = async ({ machines, site }: ObserveAllContext): Promise<string[]> => {
  looks.push(site);
  knownBy = machines.map(({ facts }) => facts);
  if (trouble) throw trouble;
  return machines.map(({ owner }) => seen.get(owner.machine) ?? 'gone');
};

const listen = (_: object, listener: () => void): (() => void) => {
  const ear = () => listener();
  ears.add(ear);
  return () => ears.delete(ear);
};

const at = (slot: number, site?: string): Machine => {
  const machine = aMachine(slot);
  return { ...machine, spec: { ...machine.spec, ...(site === undefined ? {} : { site }) } };
};
const nameOf = (slot: number): string => aMachine(slot).metadata.name;

function keep(slot: number, site?: string): void {
  seen.set(nameOf(slot), `as ${slot}`);
  expect(vigil.keep(at(slot, site), `as ${slot}`)).toBe(true);
}

beforeEach(() => {
  stop();
  [seen, looks, trouble, config, woken] = [new Map(), [], undefined, aProviderConfig(), []];
  [ears, stored, knownBy] = [new Set(), new Map(), []];
  const machines = { get: ({ name }: { name: string }) => stored.get(name) };
  const room = {
    ...{ clock, provider: 'talos', installation: 'here', namespace: 'openmcp-system', connections: {} },
    log: { error: (fields: object) => woken.push(JSON.stringify(fields)) },
    platforms: [{ ...truenas, glance, listen }],
    stores: { providerConfigs: { get: () => config }, secrets: { get: () => ({ data: {} }) }, machines },
  } as unknown as Services;
  vigil = new MachineMonitor(room);
  stop = vigil.source.subscribe(({ name }) => void woken.push(name));
});

describe('machines at rest', () => {
  it('are all seen with one look in less than a minute, and left alone while nothing changes', async () => {
    for (const slot of [0, 1, 2]) keep(slot);
    await clock.advance(39_000);
    expect(looks).toEqual([]);
    await clock.advance(81_000);
    expect([looks, woken]).toEqual([[undefined, undefined, undefined], []]);
  });

  it('are known by what stands in the store of each, of which nothing is kept beside it', async () => {
    keep(0);
    keep(1);
    const facts = { vm: '7' };
    const progress = { plan: 'provision' as const, step: '', since: '', failures: 0, facts };
    stored.set(nameOf(0), { ...at(0), status: { observedGeneration: 1, phase: '', conditions: [], progress } });
    await clock.advance(40_000);
    expect(knownBy[0]).toBe(facts);
    expect(knownBy[1]).toEqual({});
  });

  it('are woken once, when something about them has changed', async () => {
    for (const slot of [0, 1, 2]) keep(slot);
    seen.set(nameOf(1), 'off');
    await clock.advance(120_000);
    expect(woken).toEqual([nameOf(1)]);
  });

  it('are not woken when others look at them anyway', async () => {
    keep(0);
    vigil.release(nameOf(0));
    seen.set(nameOf(0), 'off');
    await clock.advance(120_000);
    expect([looks, woken]).toEqual([[], []]);
  });

  it('are all woken where nobody can look, and no others', async () => {
    keep(0);
    keep(1);
    trouble = new ProviderError('TRUENAS_UNREACHABLE', 'It is away.');
    await clock.advance(40_000);
    expect(woken).toEqual([nameOf(0), nameOf(1)]);
  });

  it('are all woken when their ProviderConfig is gone', async () => {
    keep(0);
    config = undefined;
    await clock.advance(40_000);
    expect([looks, woken]).toEqual([[], [nameOf(0)]]);
  });

  it('are looked at place by place; one from before its places had names is looked at on its own', async () => {
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
    for (const [slot, site] of ['east', 'west', 'east', undefined].entries()) keep(slot, site);
    await clock.advance(40_000);
    expect([looks.sort(), woken]).toEqual([['east', 'west'], [nameOf(3)]]);
  });

  it('are still woken after a look failed by a fault of ours, which is told', async () => {
    keep(0);
    trouble = new TypeError('a fault');
    await clock.advance(40_000);
    expect(woken).toEqual(['{"err":{}}']);
    [trouble, woken] = [undefined, []];
    seen.set(nameOf(0), 'off');
    await clock.advance(40_000);
    expect(woken).toEqual([nameOf(0)]);
  });

  it('are left alone, and nothing is told, when a look ends because the connections do', async () => {
    keep(0);
    trouble = new DOMException('stopped', 'AbortError');
    await clock.advance(40_000);
    expect(looks).toHaveLength(1);
    expect(woken).toEqual([]);
  });

  it('are left alone once nobody listens', async () => {
    keep(0);
    stop();
    seen.set(nameOf(0), 'off');
    await clock.advance(120_000);
    expect([looks, woken]).toEqual([[], []]);
  });

  it('are looked at as soon as their place tells of a change', async () => {
    for (const slot of [0, 1]) keep(slot);
    await clock.advance(80_000);
    expect(ears.size).toBe(1);
    seen.set(nameOf(1), 'off');
    for (const ear of ears) ear();
    await clock.settle();
    expect(woken).toEqual([nameOf(1)]);
    stop();
    expect(ears.size).toBe(0);
  });

  it('are looked at by what is told before the first look, too', async () => {
    keep(0);
    await clock.settle();
    expect([ears.size, looks]).toEqual([1, []]);
    seen.set(nameOf(0), 'off');
    for (const ear of ears) ear();
    await clock.settle();
    expect(woken).toEqual([nameOf(0)]);
  });

  it('are not listened for where none is left', async () => {
    keep(0);
    await clock.advance(40_000);
    vigil.release(nameOf(0));
    expect(ears.size).toBe(1);
    await clock.advance(40_000);
    expect(ears.size).toBe(0);
  });
});

it('is nothing for a platform whose machines cannot be seen together', () => {
  const other = aMachine();
  expect(vigil.keep({ ...other, spec: { ...other.spec, platform: 'hetznerRobot' } }, 'as 0')).toBe(false);
});
