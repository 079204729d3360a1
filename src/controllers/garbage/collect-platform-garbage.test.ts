import { describe, expect, it } from 'vitest';
import { aMachine, anInstance, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Machine } from '../../api/machine.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { GarbageContext } from '../../engine/capabilities/garbage.ts';
import { ProcessConnectionCache } from '../../engine/connection-cache.ts';
import { noLog } from '../../lib/log.ts';
import { TrueNasError } from '../../platforms/truenas/error-codes.ts';
import type { Services } from '../shared/services.ts';
import { collectPlatformGarbage, type GarbageScope, requestGarbageCollection } from './collect-platform-garbage.ts';

const provider = aProviderConfig().spec?.providerRef?.name ?? '';

/** The objects of the API server, and a platform with this garbage collection. */
function scene(work: (context: GarbageContext) => Promise<readonly string[]> = async () => []) {
  const clock = new ManualClock();
  const events: string[] = [];
  const there = { configs: [aProviderConfig()] as ProviderConfig[], machines: [] as Machine[] };
  const services = {
    ...{ installation: 'installation-1', provider, clock, connections: new ProcessConnectionCache() },
    kube: { list: async (type: unknown) => ({ items: type === Machine ? there.machines : there.configs }) },
    events: { record: (_: unknown, ...words: string[]) => events.push(words.join(' ')) },
  } as unknown as Services;
  const seen: GarbageContext[] = [];
  const collect: GarbageScope['collect'] = async (context) => {
    seen.push(context);
    return await work(context);
  };
  const check = {
    signal: new AbortController().signal,
    log: noLog,
    failureDomain: undefined,
  } as unknown as GarbageScope['check'];
  const look = (...failureDomains: (string | undefined)[]) =>
    collectPlatformGarbage(
      services,
      aProviderConfig(),
      (failureDomains.length > 0 ? failureDomains : [undefined]).map((failureDomain) => ({
        collect,
        check: { ...check, failureDomain },
      })),
    );
  const ask = () => requestGarbageCollection(services, aProviderConfig());
  const anHourLater = async () => {
    await clock.advance(3600 * 1000);
    await look();
  };
  return { clock, events, there, seen, look, ask, anHourLater };
}

/** The result of `needed` as the platform gets it. */
async function neededIn(arrange: (there: ReturnType<typeof scene>['there']) => void) {
  const { there, seen, look, anHourLater } = scene();
  arrange(there);
  await look();
  await anHourLater();
  return await seen[0]?.inUse();
}

describe('garbage collection of a platform', () => {
  it('begins an hour after the process, and repeats every hour', async () => {
    const { clock, seen, look, anHourLater } = scene();
    await look();
    await clock.advance(3599 * 1000);
    await look();
    expect(seen).toHaveLength(0);
    await clock.advance(1000);
    for (let i = 0; i < 3; i += 1) await look();
    expect(seen).toHaveLength(1);
    await anHourLater();
    expect(seen).toHaveLength(2);
    expect(seen[0]?.instance).toEqual({ installation: 'installation-1', provider });
  });

  it('runs at once on request', async () => {
    const { seen, look, ask } = scene();
    for (let i = 1; i <= 2; i += 1) {
      ask();
      await look();
      await look();
      expect(seen).toHaveLength(i);
    }
  });

  it('runs in an unreachable failure domain as soon as that is reachable again', async () => {
    const { clock, seen, look, ask } = scene();
    await look('a', 'b');
    await clock.advance(3600 * 1000);
    await look('a');
    await look('a', 'b');
    expect(seen.map(({ failureDomain }) => failureDomain)).toEqual(['a', 'b']);
    ask();
    await look('b');
    await look('a', 'b');
    expect(seen.slice(2).map(({ failureDomain }) => failureDomain)).toEqual(['b', 'a']);
  });

  it('records an Event for each removed resource', async () => {
    const { events, look, anHourLater } = scene(async () => ['It is removed.']);
    await look();
    await anHourLater();
    expect(events).toEqual(['Normal Tidied It is removed.']);
  });

  it('ignores errors of the platform, and throws internal errors', async () => {
    const away = scene(() => Promise.reject(new TrueNasError('TRUENAS_UNREACHABLE')));
    await away.look();
    await away.anHourLater();
    await away.anHourLater();
    expect(away.seen).toHaveLength(2);
    const wrong = scene(() => Promise.reject(new TypeError('ours')));
    await wrong.look();
    await expect(wrong.anHourLater()).rejects.toThrow('ours');
  });
});

describe('the resources in use', () => {
  const joined = (facts: Record<string, unknown>, change: Partial<Machine['spec']> = {}): Machine => {
    const machine = aMachine();
    machine.spec = { ...machine.spec, providerRef: { ...machine.spec.providerRef, name: provider }, ...change };
    machine.status = { ...machine.status!, progress: { ...machine.status!.progress!, facts } };
    return machine;
  };
  const versions = (needed: Awaited<ReturnType<typeof neededIn>>) => needed?.talos.map(({ version }) => version);
  const version = aProviderConfig().spec?.talos.version;

  it('come from ProviderConfigs, from Machines in provisioning, and from the facts of all Machines', async () => {
    const needed = await neededIn((there) => {
      there.machines = [
        joined({ joined: true, image: '/mnt/a' }, { talosVersion: '1.12.1' }),
        joined({ image: '/mnt/b' }, { talosVersion: '1.12.2' }),
      ];
    });
    expect(versions(needed)).toEqual([version, '1.12.2']);
    expect(needed?.facts.map(({ image }) => image)).toEqual(['/mnt/a', '/mnt/b']);
  });

  it('do not include resources of other providers', async () => {
    const needed = await neededIn((there) => {
      const other = aProviderConfig();
      other.spec = { ...other.spec!, providerRef: { name: 'other' } };
      there.configs.push(other);
      there.machines = [joined({ image: '/mnt/b' }, { providerRef: { ...anInstance, name: 'other' } })];
    });
    expect([versions(needed), needed?.facts]).toEqual([[version], []]);
  });

  it.each<[string, (there: ReturnType<typeof scene>['there']) => void]>([
    ['a ProviderConfig is invalid', ({ configs }) => void Object.assign(configs[0]?.spec?.talos ?? {}, { version: 7 })],
    [
      'a Machine in provisioning has none',
      (there) => void Object.assign(there, { configs: [], machines: [joined({})] }),
    ],
  ])('are unknown if %s', async (_, arrange) => {
    expect(await neededIn(arrange)).toBeUndefined();
  });
});
