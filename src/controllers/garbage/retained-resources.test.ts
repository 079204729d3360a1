import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Machine } from '../../api/machine.ts';
import { annotations, labels } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { noLog } from '../../lib/log.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import type { Services } from '../shared/services.ts';
import { GarbageSchedule } from './garbage-schedule.ts';
import type { GarbageScope, GarbageVisit } from './garbage-source.ts';
import { createRetainedResourceSource, findRetainedResources } from './retained-resources.ts';

const { name } = aMachine().metadata;
const key = (notes: Record<string, string>, provider = 'talos') => ({
  metadata: {
    name: `${name}-disk-key`,
    labels: { [labels.provider]: provider, [labels.diskKey]: name },
    annotations: notes,
  },
});
const noted = { [annotations.madeOn]: 'nas', [annotations.opens]: '1:tank/a,2:fast/a' };

function createFixture(secrets: readonly object[] = [key(noted)]) {
  const clock = new ManualClock();
  const gone: string[] = [];
  const message: string[] = [];
  const there = { machines: [] as Machine[], clusters: [] as Cluster[], known: false };
  const none = { get: () => undefined, by: () => [], list: () => [] };
  const services = {
    ...{
      environment: 'test',
      provider: 'talos',
      namespace: 'openmcp-system',
      platforms: [truenas],
      release: '1.0.0',
      clock,
    },
    events: { record: (_: unknown, ...words: string[]) => void message.push(words.join(' ')) },
    addresses: {
      leasedAddress: async () => [{ machine: name, address: '192.0.2.7', system: 'nas' }],
      find: async () => '192.0.2.7',
      release: async ({ text }: { text: string }) => void gone.push(text),
    },
    kube: {
      list: async (type: unknown) => ({ items: type === Machine ? there.machines : there.clusters }),
      find: async (_: unknown, { name: asked }: { name: string }) =>
        secrets.find((one) => asked.endsWith('disk-key') && one),
      remove: async (_: unknown, { name: asked }: { name: string }) => void gone.push(asked),
    },
    stores: {
      ...{ clusters: none, nodePools: none, profiles: none, clusterConfigs: none, accessRequests: none },
      machines: { ...none, get: () => (there.known ? aMachine() : undefined) },
      secrets: { ...none, list: () => secrets },
      providerConfigs: { ...none, list: () => [aProviderConfig()] },
    },
  } as unknown as Services;
  const { signal } = new AbortController();
  const read = async () => await findRetainedResources(services, signal);
  const source = createRetainedResourceSource(clock);
  const schedule = new GarbageSchedule(clock);
  const proven = { before: async () => {} };
  const findUnneeded = async <T>(_: unknown, retained: readonly T[]): Promise<readonly T[]> => {
    await proven.before();
    return retained;
  };
  const scope = { garbage: { findUnneeded }, check: { failureDomain: undefined } } as unknown as GarbageScope;
  const config = aProviderConfig();
  const visit = { services, schedule, config, scopes: [scope], unavailable: [], signal, log: noLog };
  /** One collection, and an hour. */
  const round = async () => {
    schedule.request(config.metadata.name);
    await source.collect(visit satisfies GarbageVisit);
    await clock.advance(3600 * 1000);
  };
  return { clock, gone, there, look: read, round, proven, messages: message };
}

describe('the retained resources of a Machine that does not exist', () => {
  it('are its disk key and its address, each with the system of the Machine', async () => {
    expect(await createFixture().look()).toMatchObject([
      { machine: name, system: 'nas', roots: ['1:tank/a', '2:fast/a'], description: `the Secret ${name}-disk-key` },
      { machine: name, system: 'nas', description: 'the address 192.0.2.7' },
    ]);
  });

  it.each([
    ['that does not name its disks', key({ [annotations.madeOn]: 'nas', [annotations.opens]: '' })],
    ['of an earlier release without annotations', key({})],
    ['of another provider', key(noted, 'other')],
  ])('do not include a key %s', async (_, secret) => {
    expect((await createFixture([secret]).look()).map(({ description }) => description)).toEqual([
      'the address 192.0.2.7',
    ]);
  });

  it.each<[string, (there: ReturnType<typeof createFixture>['there']) => void]>([
    ['the cache has a Machine of the name', (there) => Object.assign(there, { known: true })],
    ['the API server has a Machine that the cache lacks', (there) => there.machines.push(aMachine())],
    ['a Cluster needs one', (there) => there.clusters.push(aCluster())],
  ])('are empty if %s', async (_, arrange) => {
    const { there, look: read } = createFixture();
    arrange(there);
    expect(await read()).toEqual([]);
  });

  it('are removed after a day of hourly scans', async () => {
    const { gone, round, messages: message } = createFixture();
    for (let hour = 0; hour < 24; hour += 1) await round();
    expect(gone).toEqual([]);
    await round();
    expect(gone).toEqual([`${name}-disk-key`, `machine/${name}`]);
    expect(message).toEqual([
      expect.stringMatching(`^Normal GarbageCollected Removed the Secret ${name}-disk-key: `),
      expect.stringMatching(/^Normal GarbageCollected Removed the address 192\.0\.2\.7: /),
    ]);
  });

  it('start their day again after a long gap between scans', async () => {
    const { gone, round, clock } = createFixture();
    for (let hour = 0; hour < 20; hour += 1) await round();
    await clock.advance(3 * 3600 * 1000);
    for (let hour = 0; hour < 24; hour += 1) await round();
    expect(gone).toEqual([]);
  });

  it('stay if a Machine of the name is created right before the removal', async () => {
    const { gone, there, round, proven } = createFixture();
    for (let hour = 0; hour < 24; hour += 1) await round();
    let isProven = false;
    proven.before = async () => {
      isProven = true;
      there.machines.push(aMachine());
    };
    await round();
    expect([isProven, gone]).toEqual([true, []]);
  });
});
